"""Errors by kind: a closed set, so that hostile or chatty messages make no more kinds than these."""

from __future__ import annotations

import re
from functools import lru_cache

OTHER = "other"
# The first that fits wins. The words are those of SDKs, HTTP statuses and engines.
_KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("cancelled", r"cancel|abort|interrupt|\b499\b"),
        ("timeout", r"time.?d? ?out|deadline|\b(?:408|504)\b"),
        ("rate_limit", r"rate.?limit|too many requests|quota|\b429\b"),
        ("context_length", r"context.{0,20}(?:length|window)|too long|too many tokens|\b413\b"),
        ("content_filter", r"content.?filter|moderation|safety|refus(?:al|ed to)"),
        ("access", r"unauthori[sz]ed|forbidden|permission|authentication|\b40[13]\b"),
        ("connection", r"connect|network|dns|socket|unreachable|reset by peer|eof"),
        ("overloaded", r"overload|unavailable|\b(?:503|529)\b"),
        ("bad_request", r"bad.?request|invalid|validation|not.?found|missing|unprocessable|\b4\d\d\b"),
        ("server", r"internal.?server|server.?error|\b5\d\d\b"),
    )
)

KINDS = (*(kind for kind, _ in _KINDS), OTHER)
TOLD_MOST = 500  # characters of an error that are looked at


def kind_sql(column: str) -> str:
    """The same in SQL, whose regular expressions write the edge of a word otherwise."""
    cases = " ".join(
        f"WHEN left({column}, {TOLD_MOST}) ~* '{_as_postgresql(pattern)}' THEN '{kind}'" for kind, pattern in _KINDS
    )
    return f"CASE WHEN {column} IS NOT NULL THEN CASE {cases} ELSE '{OTHER}' END END"


def _as_postgresql(pattern: re.Pattern[str]) -> str:
    return pattern.pattern.replace(r"\b", r"\y").replace("%", "%%")


@lru_cache(maxsize=1_024)
def error_kind(text: str) -> str:
    """Which kind an error's text tells of; ``other`` where it tells of none."""
    told = text[:TOLD_MOST]
    return next((kind for kind, pattern in _KINDS if pattern.search(told)), OTHER)
