"""How a change is written: its arrow, its range. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard import figures
from dashboard.figures import THIN, Figure
from dashboard.reports.core.noise import Change

SAME = "≈"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A change: the arrow tells the direction, ``tone`` (worse, better, empty) the judgement; ≈ is noise."""

    text: str
    tone: str = ""


def delta(change: Change, *, points: bool = False, more_is_better: bool = False) -> Delta:
    """``▲ 9 %`` where it is claimed; of shares in points."""
    if change.difference is None:
        return Delta(text="")
    if not change.claimed:
        return Delta(text=SAME)
    up = change.difference > 0
    arrow, tone = "▲" if up else "▼", "better" if up == more_is_better else "worse"
    if not points and not change.before:  # of nothing there is no share
        return Delta(text=f"{arrow} from 0", tone=tone)
    amount = abs(change.difference) if points else abs(change.relative or 0)
    shown = f"{amount * 100:.1f}" if amount < 0.0995 and points else f"{amount * 100:.0f}"
    return Delta(text=f"{arrow} {shown}{THIN}{'points' if points else '%'}", tone=tone)


def interval(change: Change, *, points: bool = False) -> str:
    """``+5 to +13 %``."""
    if change.low is None or change.high is None or not change.before:
        return ""
    whole = 1.0 if points else change.before
    low, high = (f"{_signed(value / whole * 100)}" for value in (change.low, change.high))
    return f"{low} to {high}{THIN}{'points' if points else '%'}"


def time(ns: float | None) -> Figure:
    return figures.duration(None if ns is None else round(ns))


def _signed(value: float) -> str:
    shown = f"{abs(value):.1f}" if abs(value) < 9.95 else f"{abs(value):.0f}"
    return shown if float(shown) == 0 else f"{'+' if value > 0 else '−'}{shown}"
