"""Changes of a query that links and menus make: its text in, its new text out."""

from __future__ import annotations

from ingest.read.query.parser import parse, quote
from ingest.read.query.terms import BadQuery, Pattern, Query, Term


def chosen(query: Query, field: str) -> list[str]:
    """The values of a field that terms ask for, one by one."""
    return [
        wanted.text
        for term in query.of(field)
        if not term.negated
        for wanted in term.wanted
        if isinstance(wanted, Pattern) and wanted.exact
    ]


def toggled(query: Query, field: str, value: str) -> str:
    """With one more value of a field allowed, or without it where it was."""
    values, term = chosen(query, field), _choosing(query, field)
    values = [one for one in values if one != value] if value in values else [*values, value]
    rest = str(query.without(term)) if term else str(query)
    return joined(rest, f"{field}:{','.join(map(quote, values))}" if values else "")


def _choosing(query: Query, field: str) -> Term | None:
    """The term that lists values of a field, if there is one such."""
    return next(
        (
            term
            for term in query.of(field)
            if not term.negated and all(isinstance(one, Pattern) and one.exact for one in term.wanted)
        ),
        None,
    )


def replaced(query: Query, field: str, text: str) -> str:
    """With one term instead of all those of a field."""
    return joined(str(query.without(*query.of(field))), text)


def joined(*texts: str) -> str:
    return " ".join(text.strip() for text in texts if text.strip())


def readable(text: str) -> Query:
    """The query, or an empty one where it cannot be read."""
    try:
        return parse(text)
    except BadQuery:
        return Query(())
