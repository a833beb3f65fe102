"""The histogram over a list of runs, as SVG draws it: a bar a step, as high as the seconds of its runs, by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.figures import Figure, duration, plural
from dashboard.pages.parts.bar import ORDER, css_name
from dashboard.pages.parts.safetext import visible
from ingest.read.deploys import Deploy
from ingest.read.timeline import Timeline, TimelineStep

HEIGHT, STEP_WIDTH, GAP = 100, 10, 1
TICKS = 6
MARKS_MOST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """In units of the drawing. ``segments`` are stages with their upper edge and height."""

    x: int
    step: TimelineStep
    title: str
    segments: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    width: int
    height: int
    bars: list[Bar]
    bar_width: int
    ticks: list[tuple[str, int]]
    most: str


def draw(timeline: Timeline) -> Drawing | None:
    """None where no run ended."""
    steps = timeline.steps
    most = max((sum(step.totals_ns.values()) for step in steps), default=0)
    if not most:
        return None
    return Drawing(
        width=len(steps) * STEP_WIDTH, height=HEIGHT, bar_width=STEP_WIDTH - GAP,
        bars=[_bar(at, step, most) for at, step in enumerate(steps)], ticks=_ticks(steps),
        most=str(duration(most)),
    )  # fmt: skip


def table(timeline: Timeline) -> list[tuple[TimelineStep, list[Figure]]]:
    """The same as rows, the newest first; steps without runs are left out."""
    return [
        (step, [duration(step.totals_ns[stage]) for stage in ORDER]) for step in reversed(timeline.steps) if step.runs
    ]


def marks(timeline: Timeline, deploys: Sequence[Deploy]) -> list[tuple[str, str]]:
    """Where along the axis, in percent, which service got which version; the last of many."""
    first, last = timeline.steps[0].from_unix_ns, timeline.steps[-1].to_unix_ns
    return [
        (f"{(one.at_unix_ns - first) / (last - first) * 100:.3f}", visible(f"{one.service} {one.version}"))
        for one in deploys[-MARKS_MOST:]
    ]  # fmt: skip


def _bar(at: int, step: TimelineStep, most: int) -> Bar:
    below = 0.0
    segments = []
    for stage in ORDER:
        height = step.totals_ns[stage] / most * HEIGHT
        if height:
            below += height
            segments.append((css_name(stage), f"{HEIGHT - below:.2f}", f"{height:.2f}"))
    whole = sum(step.totals_ns.values())
    title = f"{plural(step.runs, 'run')}, {duration(whole)} in all" if step.runs else "no run"
    return Bar(x=at * STEP_WIDTH, step=step, title=title, segments=segments)


def _ticks(steps: Sequence[TimelineStep]) -> list[tuple[str, int]]:
    """Where along the axis, in percent, which instants stand."""
    every = max(1, len(steps) // TICKS)
    return [
        (f"{at / len(steps) * 100:.3f}", steps[at].from_unix_ns)
        for at in range(every // 2, len(steps) - every // 4, every)
    ]  # fmt: skip
