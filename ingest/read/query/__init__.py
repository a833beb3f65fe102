"""The query language of runs: text in, terms out, and what these mean for rows and for keys of rollups.

Pure but for nothing: no Django, no database, no clock. ``docs/query.md`` is its reference, and a test holds the two
together.
"""
