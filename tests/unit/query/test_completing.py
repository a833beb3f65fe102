"""What a query that is being written has at its cursor."""

from __future__ import annotations

import pytest

from ingest.read.query.completing import field_offers, place_at


@pytest.mark.parametrize(
    ("text", "field", "typed", "replaced", "rest"),
    [
        ("ser|", None, "ser", "ser", ""),
        ("wall>5s ser|", None, "ser", "ser", "wall>5s"),
        ("service:che| wall>5s", "service", "che", "che", "wall>5s"),
        ("-service:che|", "service", "che", "che", ""),
        ("service:a,b|", "service", "b", "b", ""),
        ('name:"late par|cel" x', "name", "late par", '"late parcel"', "x"),
        ("stage.re|", None, "stage.re", "stage.re", ""),
        ("wall>|", "wall", "", "", ""),
        ("service:a |", None, "", "", "service:a"),
        ("ser|vice:a", None, "ser", "service:a", ""),
        ("|", None, "", "", ""),
    ],
)
def test_the_place_of_the_cursor(text: str, field: str | None, typed: str, replaced: str, rest: str) -> None:
    cursor, text = text.index("|"), text.replace("|", "")
    place = place_at(text, cursor)
    assert (place.field.name if place.field else None, place.typed) == (field, typed)
    assert text[place.start : place.end] == replaced
    assert str(place.rest) == rest


def test_a_field_found_by_its_name_comes_with_amounts_to_compare_with() -> None:
    assert [offer.insert for offer in field_offers("stage.re_e")][:2] == ["stage.re_encoding>", "stage.re_encoding>20%"]
    assert field_offers("servi")[0].insert == "service:"
    assert field_offers("nothing of the kind") == []
