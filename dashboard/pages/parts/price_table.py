"""Price lists as the settings page shows them."""

from __future__ import annotations

from typing import Any

from ingest.price_list import AMOUNTS, as_toml, written
from ingest.prices import read_tables
from ingest.scope import Scope


def shown_prices(scope: Scope) -> dict[str, Any]:
    """All that hold for a project, and its own as they are edited."""
    own, common = read_tables(scope)
    told = own or common
    return {
        "currency": told.currency if told else "",
        "own_prices": as_toml(own) if own else "",
        "prices": [
            {"model": price["model"], "from": price["from"], "whose": whose, "amounts": [price[a] for a in AMOUNTS]}
            for table, whose in ((own, "this project"), (common, "all projects"))
            if table
            for price in written(table)
        ],
    }
