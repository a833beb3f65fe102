"""Completion of a query from real values, each with the number of runs that it would leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.read import attributes
from ingest.read.facets import count_with, read_values
from ingest.read.query.completing import (
    OFFERED_MOST,
    Offer,
    Place,
    amount_offers,
    choice_offers,
    field_offers,
    place_at,
)
from ingest.read.query.fields import Kind
from ingest.read.query.parser import quote, writable
from ingest.read.query.terms import ATTRIBUTE
from ingest.read.runs import RunFilter, narrowed_by
from ingest.scope import Scope

BUDGET_S = 0.4
ANYWHERE = ("service", "agent", "model", "tool")  # whose values are offered where no field is written yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """``runs`` is how many of ``among`` runs it would leave; None: not counted."""

    insert: str
    says: str
    runs: int | None
    among: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    start: int
    end: int
    choices: list[Choice]


def complete(
    scope: Scope, wanted: RunFilter, text: str, cursor: int, now_ns: int, budget_s: float = BUDGET_S
) -> Completion:
    """What may stand at the cursor of a query; ``wanted`` tells the range. Raises BadFilter."""
    place = place_at(text, cursor)
    rest = replace(wanted, q=str(place.rest))
    if place.field is None and place.typed.startswith(ATTRIBUTE):
        choices = _attributes(scope, rest, place.typed.removeprefix(ATTRIBUTE), now_ns, budget_s)
    elif place.field is not None and place.field.kind is Kind.ATTRIBUTE:
        name = place.field.name.removeprefix(ATTRIBUTE)
        choices = _attribute_values(scope, rest, name, place.typed, now_ns, budget_s)
    elif place.field is None or place.field.kind is Kind.AMOUNT:
        offers = field_offers(place.typed) if place.field is None else amount_offers(place.field, place.typed)
        choices = _counted(scope, rest, offers, now_ns, budget_s)
        if place.field is None and place.typed:
            choices = [*_values(scope, rest, place, ANYWHERE, now_ns, budget_s), *choices]
    elif place.field.kind is Kind.CHOICE:
        choices = _counted(scope, rest, choice_offers(place.field, place.typed), now_ns, budget_s)
    elif place.field.kind is Kind.ERROR:
        counted = _counted(scope, rest, choice_offers(place.field, place.typed), now_ns, budget_s)
        choices = [choice for choice in counted if choice.runs != 0]
    elif place.field.kind is Kind.ID:
        choices = []
    else:
        choices = _values(scope, rest, place, (place.field.name,), now_ns, budget_s)
    return Completion(start=place.start, end=place.end, choices=choices[:OFFERED_MOST])


def _attributes(scope: Scope, rest: RunFilter, typed: str, now_ns: int, budget_s: float) -> list[Choice]:
    """Names that the newest runs' spans have, those of most runs first."""
    told = attributes.sample(scope, rest, now_ns, budget_s, narrowed_by(scope, now_ns))
    names = Counter(name for run in told for name in run if typed.lower() in name.lower() and writable(name))
    ordered = sorted(names, key=lambda name: (not name.lower().startswith(typed.lower()), -names[name], name))
    return [Choice(insert=f"{ATTRIBUTE}{name}:", says="", runs=None, among=None) for name in ordered]


def _attribute_values(
    scope: Scope, rest: RunFilter, name: str, typed: str, now_ns: int, budget_s: float
) -> list[Choice]:  # fmt: skip
    told = attributes.sample(scope, rest, now_ns, budget_s, narrowed_by(scope, now_ns))
    values = Counter(value for run in told for value in run.get(name, ()) if typed.lower() in value.lower())
    return [Choice(insert=quote(value), says="", runs=None, among=None) for value, _ in values.most_common()]


def _counted(
    scope: Scope, rest: RunFilter, offers: Sequence[Offer], now_ns: int, budget_s: float
) -> list[Choice]:  # fmt: skip
    terms = [offer.term for offer in offers if offer.term]
    told = count_with(scope, rest, terms, now_ns, budget_s) if terms else None
    among, runs = (None, {}) if told is None else (told[0], dict(zip(terms, told[1], strict=True)))
    return [
        Choice(
            insert=offer.insert, says=offer.says, runs=runs.get(offer.term or ""), among=among if offer.term else None
        )
        for offer in offers
    ]  # fmt: skip


def _values(
    scope: Scope, rest: RunFilter, place: Place, fields: Sequence[str], now_ns: int, budget_s: float
) -> list[Choice]:  # fmt: skip
    """Of several fields the names stand before the values."""
    found: list[Choice] = []
    for name in fields:
        for value, runs in read_values(scope, rest, name, place.typed, now_ns, budget_s / len(fields))[:OFFERED_MOST]:
            insert = quote(value) if place.field else f"{name}:{quote(value)}"
            found.append(Choice(insert=insert, says="", runs=runs, among=None))
    return found if place.field else found[: OFFERED_MOST // 2]
