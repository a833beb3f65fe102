"""What keys of rollups tell of a query: so a list looks only where it may find something, and figures come from
rollups where these tell all."""

from __future__ import annotations

from ingest.read.query.terms import Known, Pattern, Query, Term
from ingest.rollups.counting import Flag, Key, Kind

TELL_OF = ("service", "version", "environment", "agent")
_FAILED = int(Flag.FAILED)


def tells(term: Term, kind: Kind) -> bool:
    """Whether a key of this kind tells if the term holds. A call's key knows its own model only, so it cannot tell
    that none of its run's others is one; a tool's knows of no model."""
    if term.field == "status":
        return all(isinstance(one, Pattern) and one.text != "open" for one in term.wanted)
    if term.field == "model":
        return kind is Kind.RUN or (kind is Kind.CALL and not term.negated)
    if term.field == "engine":
        return kind is Kind.RUN
    return term.field in TELL_OF


def narrows(query: Query) -> bool:
    """Whether keys of runs tell anything of it."""
    return any(tells(term, Kind.RUN) for term in query.terms)


def tells_all(query: Query, kind: Kind) -> bool:
    return all(tells(term, kind) for term in query.terms)


def needs_full(query: Query) -> bool:
    """Whether plain steps, which tell no version, model and engine, tell too little."""
    return any(term.field in ("version", "model", "engine") for term in query.terms)


def fits_key(query: Query, kind: Kind, key: Key) -> bool:
    """Whether what counts under a key fits, as far as keys tell."""
    return all(_holds(term, kind, key) for term in query.terms if tells(term, kind))


def _holds(term: Term, kind: Kind, key: Key) -> bool:
    if term.field == "status":
        values: tuple[str | None, ...] = ("error" if key.flags & _FAILED else "ok",)
    elif term.field == "model":
        values = key.models if kind is Kind.RUN else (key.own,)
    else:
        values = (getattr(key, term.field),)
    told = [value for value in values if value is not None]
    found = any(
        bool(told) if isinstance(wanted, Known) else isinstance(wanted, Pattern) and any(map(wanted.matches, told))
        for wanted in term.wanted
    )
    return found != term.negated
