"""The heart of alerting [pure]: rules, verdicts, the states of an alert, burn rates, silences, fingerprints and words.

Knows no database, no clock and no page: instants are passed in as nanoseconds of Unix time.
"""
