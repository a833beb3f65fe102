"""Cells added up when asked: the same as adding them one after another, whatever lies on what."""

from __future__ import annotations

import random

from ingest.rollups.counting import Cell, Kind
from ingest.rollups.packing import pack_cell
from ingest.rollups.piles import Counted, Pile, Stored, add_columns, as_cell, merge_bodies

METRICS = 11


def drawn(chance: random.Random, items: int, spread: int) -> Cell:
    cell = Cell.of(Kind.CALL)
    for metric in range(METRICS):
        for _ in range(items):
            bin_ = chance.randrange(-1, spread)
            cell.bins[metric][bin_] = cell.bins[metric].get(bin_, 0) + 1
        cell.sums[metric] = chance.choice((7, -7, 2**70, -(2**70))) * items
    cell.errors = {"timeout": chance.randrange(1, 4)} if chance.random() < 0.5 else {}
    return cell


def added(cells: list[Cell]) -> Cell:
    whole = Cell.of(Kind.CALL)
    for cell in cells:
        whole.add(cell)
    return whole


def test_a_pile_of_piles_is_the_sum_of_what_lies_on_them() -> None:
    chance = random.Random(1)
    cells = [drawn(chance, *chance.choice(((1, 2000), (9, 40), (300, 500), (900, 60)))) for _ in range(40)]
    shared = Stored([pack_cell(cell) for cell in cells[:15]])
    upper = Pile(Pile(shared, Stored([pack_cell(cell) for cell in cells[15:39]])), Counted(cells[39]))

    assert shared.known(0) == added(cells[:15]).count
    assert as_cell(upper) == added(cells)
    assert [upper.known(metric) for metric in range(METRICS)] == [sum(b.values()) for b in added(cells).bins]
    assert as_cell(Pile(shared)) == added(cells[:15])
    assert merge_bodies([pack_cell(cell) for cell in cells]) == added(cells)
    assert add_columns([shared.column(3), upper.column(3)]) == added([*cells[:15], *cells]).bins[3]


def test_counts_beyond_a_lane_do_not_run_into_their_neighbours() -> None:
    cell = Cell.of(Kind.CALL)
    cell.bins[2] = dict.fromkeys(range(10, 30), 2**27)
    many = Pile(*(Stored([pack_cell(cell)]) for _ in range(40)))

    assert as_cell(many).bins[2] == dict.fromkeys(range(10, 30), 40 * 2**27)
    assert many.known(2) == 40 * 20 * 2**27


def test_what_is_taken_back_counts_negatively() -> None:
    once, back = Cell.of(Kind.CALL), Cell.of(Kind.CALL)
    once.bins[1], back.bins[1] = dict.fromkeys(range(20), 3), dict.fromkeys(range(20), -1)
    pile = Pile(Stored([pack_cell(once), pack_cell(back)]), Counted(back))

    assert pile.column(1).as_bins() == dict.fromkeys(range(20), 1)
    assert pile.known(1) == 20
