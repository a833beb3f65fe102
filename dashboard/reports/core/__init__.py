"""The heart of the weekly report [pure]: weeks, noise, the split of a change, breaks, causes, words.

Values in, values out: it knows no database, no clock and no page.
"""
