"""The mean run of both weeks by stage, as text that adds up. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard import figures
from dashboard.figures import MS, SECOND, THIN
from dashboard.reports.core.parts import Cause, Split
from ingest.packed import OWNERS

LABELS = {
    "prefill": "Prefill", "decode": "Decode", "tool_parsing": "Tool parsing", "tool_execution": "Tool execution",
    "re_encoding": "Re-encoding", "continue_decode": "Continue decode", "queue": "Queue", "transport": "Transport",
    "model_unsplit": "Unsplit model", "orchestration": "Orchestration",
}  # fmt: skip
OWNER_NAMES = tuple(owner.value for owner in OWNERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftLine:
    """``left`` and ``width`` are shares of the lane."""

    stage: str
    label: str
    before: str
    after: str
    change: str
    left: float
    width: float

    @property
    def css(self) -> str:
        return self.stage.replace("_", "-")

    @property
    def left_percent(self) -> str:
        return f"{self.left * 100:.2f}"

    @property
    def width_percent(self) -> str:
        return f"{max(self.width * 100, 0.15):.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The mean run of both weeks by stage; ``causes`` split the change once more."""

    last_name: str
    week_name: str
    before_ns: int
    after_ns: int
    bars: list[tuple[str, str, list[tuple[str, int]]]]
    rows: list[ShiftLine]
    total: ShiftLine
    causes: list[tuple[str, str]]
    zero: float
    unit: str
    says: str


def write_shift(split: Split, week_name: str, last_name: str) -> Shift:
    """Both columns are rounded together and the changes are their differences, so that all sums on paper come out."""
    grain, unit, size = (10 * MS, "s", SECOND) if max(split.before_ns, split.after_ns) >= SECOND else (MS, "ms", MS)
    before, after = (
        dict(zip(OWNER_NAMES, figures.round_together([by[o] for o in OWNER_NAMES], grain), strict=True))
        for by in (split.before_by_owner_ns, split.after_by_owner_ns)
    )
    changes = {owner: after[owner] - before[owner] for owner in OWNER_NAMES}
    moved = sum(changes.values())
    low, high = min(0, moved, *changes.values()), max(0, moved, *changes.values())
    room = max(high - low, grain) * 1.1

    def line(stage: str, label: str, was: int, now: int) -> ShiftLine:
        return ShiftLine(
            stage=stage, label=label, before=_decimal(was, size), after=_decimal(now, size),
            change=_plus(now - was, size), left=(min(0, now - was) - low) / room, width=abs(now - was) / room,
        )  # fmt: skip

    totals = sum(before.values()), sum(after.values())
    causes = figures.round_together([split.ns(cause=cause) for cause in Cause], grain)
    causes[-1] += moved - sum(causes)
    return Shift(
        last_name=last_name.capitalize(), week_name=week_name.capitalize(), before_ns=split.before_ns,
        after_ns=split.after_ns,
        bars=[
            (name.capitalize(), f"{_decimal(total, size)}{THIN}{unit}", [(o, by[o]) for o in OWNER_NAMES if by[o] > 0])
            for name, total, by in (
                (last_name, totals[0], split.before_by_owner_ns), (week_name, totals[1], split.after_by_owner_ns)
            )
        ],
        rows=[line(owner, LABELS[owner], before[owner], after[owner]) for owner in OWNER_NAMES],
        total=line("", "Wall, mean", *totals),
        causes=list(zip(
            ("Mix of services", "Mix of models within them", "Same services, same models"),
            (f"{_plus(ns, size)}{THIN}{unit}" for ns in causes), strict=True,
        )),
        zero=-low / room, unit=unit,
        says=f"Mean run: {_decimal(totals[0], size)} {unit} in {last_name}, "
        f"{_decimal(totals[1], size)} {unit} in {week_name}",
    )  # fmt: skip


def _decimal(ns: int, size: int) -> str:
    return f"{ns / size:.2f}" if size == SECOND else f"{ns // size}"


def _plus(ns: int, size: int) -> str:
    return "0" if ns == 0 else f"{'+' if ns > 0 else '−'}{_decimal(abs(ns), size)}"
