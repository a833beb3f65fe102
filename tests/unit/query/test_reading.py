"""Queries as people write them, and what is said where one cannot be read."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.read.query.editing import chosen, replaced, toggled
from ingest.read.query.fields import FIELDS
from ingest.read.query.parser import parse, quote
from ingest.read.query.terms import Amount, BadQuery, Known, Pattern, Unit


def test_the_query_of_the_issue_is_seven_conditions() -> None:
    query = parse('service:checkout model:llama* wall>5s stage.prefill>30% tool:search error:timeout "text"')
    assert [(term.field, term.wanted[0]) for term in query.terms] == [
        ("service", Pattern("checkout", exact=True)),
        ("model", Pattern("llama*", exact=False)),
        ("wall", Amount(Unit.NS, Fraction(5 * 10**9), None, low_in=False)),
        ("stage.prefill", Amount(Unit.SHARE, Fraction(3, 10), None, low_in=False)),
        ("tool", Pattern("search", exact=True)),
        ("error", Pattern("timeout", exact=True)),
        ("", Pattern("text", exact=True)),
    ]
    assert query.only("service") == "checkout"


@pytest.mark.parametrize(
    ("text", "negated", "wanted"),
    [
        ("-service:a,b", True, (Pattern("a", exact=True), Pattern("b", exact=True))),
        ("service!=a", True, (Pattern("a", exact=True),)),
        ("NOT service:a", True, (Pattern("a", exact=True),)),
        ("service:(a OR b)", False, (Pattern("a", exact=True), Pattern("b", exact=True))),
        ('service:"a, b",c', False, (Pattern("a, b", exact=True), Pattern("c", exact=True))),
        ('service:"a*"', False, (Pattern("a*", exact=True),)),
        (r'service:"say \"hi\""', False, (Pattern('say "hi"', exact=True),)),
        ("service:*", False, (Known(),)),
        ("wall:2s..5s", False, (Amount(Unit.NS, Fraction(2 * 10**9), Fraction(5 * 10**9)),)),
        ("wall:..800ms", False, (Amount(Unit.NS, None, Fraction(8 * 10**8)),)),
        ("wall<=1.5", False, (Amount(Unit.NS, None, Fraction(15 * 10**8)),)),
        ("tokens.in>=12k", False, (Amount(Unit.COUNT, Fraction(12_000), None),)),
        ("cost<0.02", False, (Amount(Unit.MONEY, None, Fraction(2 * 10**10), high_in=False),)),
        ("tool-execution>50%", False, (Amount(Unit.SHARE, Fraction(1, 2), None, low_in=False),)),
        ("status:failed", False, (Pattern("error", exact=True),)),
        ("-word", True, (Pattern("word", exact=True),)),
    ],
)
def test_one_condition(text: str, negated: bool, wanted: tuple[object, ...]) -> None:
    [term] = parse(text).terms
    assert (term.negated, term.wanted) == (negated, wanted)


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("wall>5s servce:x", 8, "is it service?"),
        ("wall>soon", 5, "800ms, 5s or 2min"),
        ("service:a OR service:b", 10, "service:checkout,support"),
        ('name:"never closed', 5, "not closed"),
        ("service:(a OR b", 8, "not closed"),
        ("service>a", 7, "no amount"),
        ("status:broken", 7, "ok, error, open"),
        ("costliest:sleeping", 10, "prefill"),
        ("stage.prefill>30k", 14, "30%"),
        ("wall>1s,2s", 7, "one amount"),
        ("wall:1s..30%", 9, "a time"),
        ("stage.queue:1s..30%", 12, "same kind"),
        ("service:", 8, "a value"),
        ("trace:xyz", 6, "hexadecimal"),
        ("a -", 2, "after the minus"),
        ("NOT", 0, "after it"),
        ('ab"c', 2, "whole value in quotes"),
        ("x" * 5_000, 4_000, "4000"),
    ],
)
def test_an_error_points_at_the_character(text: str, at: int, says: str) -> None:
    with pytest.raises(BadQuery) as bad:
        parse(text)
    assert bad.value.at == at
    assert says in bad.value.message


@given(st.text(max_size=40))
def test_whatever_is_written_is_read_or_refused_within_it(text: str) -> None:
    try:
        again = parse(str(parse(text)))
    except BadQuery as bad:
        where = bad.at
    else:
        assert [term.text for term in again.terms] == [term.text for term in parse(text).terms]
        where = 0
    assert 0 <= where <= len(text)


@given(st.text(min_size=1, max_size=30))
def test_a_quoted_value_means_exactly_it(value: str) -> None:
    [term] = parse(f"service:{quote(value)}").terms
    assert term.only == value


def test_choosing_values_of_a_field_and_taking_them_back() -> None:
    text = toggled(parse("wall>5s"), "service", "check out")
    assert text == 'wall>5s service:"check out"'
    text = toggled(parse(text), "service", "desk")
    assert chosen(parse(text), "service") == ["check out", "desk"]
    assert toggled(parse(text), "service", "check out") == "wall>5s service:desk"
    assert toggled(parse("service:desk -service:x"), "service", "desk") == "-service:x"
    assert replaced(parse("wall>5s a wall<9s"), "wall", "wall>1s") == "a wall>1s"


def test_every_amount_offered_can_be_read() -> None:
    for field in FIELDS.values():
        for example in field.examples:
            assert parse(f"{field.name}>{example}").terms
