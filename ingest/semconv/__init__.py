"""What a span says, whatever convention it speaks: one adapter per convention, facts with their source. Pure.

To add a convention: write one module with a function ``facts(span) -> Told | None`` that looks for an
attribute of its own first and returns None without it, then put it into the list in ``read.py`` with the
reason for its place. Match by attributes, never by an emitter's name.
"""

from ingest.semconv.facts import Facts, FirstToken, Kind
from ingest.semconv.read import read_facts

__all__ = ["Facts", "FirstToken", "Kind", "read_facts"]
