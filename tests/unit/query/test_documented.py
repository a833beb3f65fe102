"""docs/query.md names every field, alias, kind of error and status, and its queries can be read."""

from __future__ import annotations

import re
from pathlib import Path

from ingest.read.query.fields import ALIASES, FIELDS, STATUSES
from ingest.read.query.parser import parse
from ingest.rollups.errors import KINDS

TEXT = (Path(__file__).parents[3] / "docs" / "query.md").read_text(encoding="utf-8")
CODE = set(re.findall(r"`([^`\n]+)`", TEXT))


def test_every_field_and_word_is_named() -> None:
    assert {*FIELDS, *STATUSES, *KINDS, *ALIASES} <= CODE


def test_every_query_in_it_can_be_read() -> None:
    written = [code for code in CODE if re.match(r"-?[a-z_.]+(?:[:<>]|!=)\S", code)]
    assert len(written) > 12
    for query in [*written, next(line for line in TEXT.splitlines() if line.startswith("service:checkout model"))]:
        assert parse(query).terms, query
