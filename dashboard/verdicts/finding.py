"""The shape of a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.figures import Figure, duration

Number = int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason. ``code`` is stable; ``numbers`` are what ``text`` rests on, exact, each to be worked out from the
    run's other fields; ``owner`` is the stage or outside time that it explains, ``spans`` those it is about.

    ``saves_at_most_ns`` is what ``action`` could win back and no more: an upper bound, None where no fact bounds it.
    The bounds of several findings overlap, so they are not to be added up.
    """

    code: str
    text: str
    owner: str | None = None
    numbers: Mapping[str, Number] = field(default_factory=dict)
    spans: tuple[str, ...] = ()
    saves_at_most_ns: int | None = None
    action: str = ""
    estimated: bool = False

    @property
    def saves(self) -> Figure:
        return (
            about(self.saves_at_most_ns)
            if self.estimated and self.saves_at_most_ns
            else duration(self.saves_at_most_ns)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What cost most, the reasons that explain it (the weightiest first), what would help (by what it could win)."""

    headline: Finding
    findings: tuple[Finding, ...] = ()

    @property
    def said(self) -> tuple[Finding, ...]:
        """The few that stand at the head of the page: those of what cost most, then what would win most back."""
        mine = [f for f in self.findings if f.owner == self.headline.owner][:2]
        others = [f for f in self.helps if f not in mine][:1]
        aside = [f for f in self.findings if f.code == "estimated"]
        return (*mine, *others, *aside)

    @property
    def helps(self) -> tuple[Finding, ...]:
        """What could be won back, the most first."""
        bounded = [f for f in self.findings if f.saves_at_most_ns and f.action]
        return tuple(sorted(bounded, key=lambda f: -(f.saves_at_most_ns or 0)))

    @property
    def shows(self) -> tuple[Finding, ...]:
        """What saves no time, and would let more of it be known."""
        return tuple(f for f in self.findings if f.action and not f.saves_at_most_ns)


def about(ns: int) -> Figure:
    """Two significant digits, as much as an estimate knows: 9.2 s, 180 ms."""
    if ns < 100_000:
        return duration(ns)
    grain = 10 ** (len(str(ns)) - 2)
    value, unit = duration((ns + grain // 2) // grain * grain)
    if unit in ("s", "ms") and "." in value and len(value.replace(".", "").lstrip("0")) > 2:
        value = value[:-1].rstrip(".")
    return Figure(value, unit)
