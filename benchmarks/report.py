"""A result as people and as programs read it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One row of the targets: the less the better."""

    number: int
    what: str
    value: float
    bar: float
    aim: float
    unit: str

    @property
    def verdict(self) -> str:
        if self.value <= self.aim:
            return "reaches the aim"
        return "within the bar" if self.value <= self.bar else "over the bar"


@dataclass(frozen=True)
class Result:
    """What was measured, under which circumstances, and what was wrong with the runs."""

    rows: Sequence[Row]
    facts: Mapping[str, Any]
    faults: Sequence[str]


def as_markdown(result: Result) -> str:
    lines = ["| # | what | measured | bar | aim | |", "| --- | --- | --- | --- | --- | --- |"]
    for row in result.rows:
        value, bar, aim = (f"{number:,.0f} {row.unit}" for number in (row.value, row.bar, row.aim))
        lines.append(f"| {row.number} | {row.what} | {value} | ≤ {bar} | ≤ {aim} | {row.verdict} |")
    lines += ["", *(f"- {name}: {_told(value)}" for name, value in result.facts.items()), ""]
    if result.faults:
        lines += [f"{len(result.faults)} faults:", "", *(f"- {fault}" for fault in result.faults[:20])]
    else:
        lines.append("Every run was read back and is right: calls, tools, failures, tokens, wall time, exact stages.")
    return "\n".join(lines)


def save(result: Result, folder: Path, now: datetime) -> Path:
    """Keep it as JSON and as Markdown, named by the minute."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{now:%Y-%m-%d-%H%M}.json"
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")
    path.with_suffix(".md").write_text(f"# {now:%Y-%m-%d %H:%M} UTC\n\n{as_markdown(result)}\n")
    return path


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)
