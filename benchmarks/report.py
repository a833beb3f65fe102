"""A result as people and as programs read it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Floor:
    """What the least that could be done takes, measured in the same run, and what that least is."""

    value: float
    what: str


@dataclass(frozen=True)
class Row:
    """One row of the targets: the less the better, or the more."""

    number: int
    what: str
    value: float
    bar: float
    aim: float
    unit: str
    more: bool = False
    floor: Floor | None = None
    digits: int = 0

    @property
    def verdict(self) -> str:
        if self._is_within(self.aim):
            return "reaches the aim"
        return "within the bar" if self._is_within(self.bar) else "under the bar" if self.more else "over the bar"

    def _is_within(self, limit: float) -> bool:
        return self.value >= limit if self.more else self.value <= limit

    def as_line(self) -> str:
        value, bar, aim = map(self._told, (self.value, self.bar, self.aim))
        sign = "≥" if self.more else "≤"
        return (
            f"| {self.number} | {self.what} | {value} | {sign} {bar} | {sign} {aim} | {self._floor} | {self.verdict} |"
        )

    @property
    def _floor(self) -> str:
        """Beside it, how many times it that is: a ratio holds on other machines too."""
        if self.floor is None or not self.floor.value:
            return "–"
        return f"{self._told(self.floor.value)} ({self.floor.what}); {self.value / self.floor.value:.2f} times that"

    def _told(self, number: float) -> str:
        return f"{number:,.{self.digits}f} {self.unit}"


@dataclass(frozen=True)
class Result:
    """What was measured, under which circumstances, and what was wrong with the runs."""

    rows: Sequence[Row]
    facts: Mapping[str, Any]
    faults: Sequence[str]
    read_back: bool = True  # whether there were stored runs that could be wrong


def joined(parts: Sequence[Result]) -> Result:
    """One result of several, its rows by their number."""
    facts: dict[str, Any] = {}
    for part in parts:
        for name, fact in part.facts.items():
            facts[name if name not in facts else f"{name} ({part.rows[0].number if part.rows else 'again'})"] = fact
    return Result(
        rows=sorted((row for part in parts for row in part.rows), key=lambda row: row.number),
        facts=facts,
        faults=[fault for part in parts for fault in part.faults],
        read_back=any(part.read_back for part in parts),
    )


def as_markdown(result: Result) -> str:
    lines = ["| # | what | measured | bar | aim | floor | |", f"|{' --- |' * 7}"]
    lines += [row.as_line() for row in result.rows]
    lines += ["", *(f"- {name}: {_told(value)}" for name, value in result.facts.items()), ""]
    if result.faults:
        lines += [f"{len(result.faults)} faults:", "", *(f"- {fault}" for fault in result.faults[:20])]
    elif result.read_back:
        lines.append("Every run was read back and is right: calls, tools, failures, tokens, wall time, exact stages.")
    return "\n".join(lines)


def save(result: Result, folder: Path, now: datetime, cores: int) -> Path:
    """Keep it as JSON and as Markdown, named by day and cores; the day's last result is the one that stays."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{now:%Y-%m-%d}-{cores}.json"
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")
    path.with_suffix(".md").write_text(f"# {now:%Y-%m-%d %H:%M} UTC, {cores} cores\n\n{as_markdown(result)}\n")
    return path


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)
