"""The stage bar: the segments of a run, in the order in which every bar draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dashboard.figures import Figure, duration, percent
from ingest.read.values import RunRow
from ingest.stages.model import Outside, Source, Stage

ORDER: tuple[str, ...] = (*(str(s) for s in Stage), *(str(o) for o in Outside))
LABELS = {
    "prefill": "Prefill",
    "decode": "Decode",
    "tool_parsing": "Tool parsing",
    "tool_execution": "Tool execution",
    "re_encoding": "Re-encoding",
    "continue_decode": "Continue decode",
    "queue": "Queue",
    "transport": "Transport",
    "model_unsplit": "Unsplit model",
    "orchestration": "Orchestration",
}
LABEL_FROM = 0.062  # a segment narrower than this share has no room for its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One stage's or outside time's part of a bar. ``guessed`` is the share of it that is estimated."""

    stage: str
    ns: int
    share: float
    guessed: float
    source: str | None

    @property
    def css(self) -> str:
        return css_name(self.stage)

    @property
    def label(self) -> str:
        return LABELS[self.stage]

    @property
    def time(self) -> Figure:
        return duration(self.ns)

    @property
    def width(self) -> str:
        """In percent: by growing, segments would move while those after them are still being parsed."""
        return f"{self.share * 100:.3f}"

    @property
    def guessed_width(self) -> str:
        return f"{self.guessed * 100:.2f}"

    @property
    def has_room(self) -> bool:
        return self.share > LABEL_FROM


def css_name(stage: str) -> str:
    return stage.replace("_", "-")


def amounts(run: RunRow) -> dict[str, int]:
    """All ten, in order."""
    return {stage: (run.stages_ns | run.outside_ns).get(stage, 0) for stage in ORDER}


def segments(run: RunRow) -> list[Segment]:
    """The parts of a run's bar. Zero is not drawn."""
    return segments_of(amounts(run).items(), run.sources, run.sources_ns)


def segments_of(
    parts: Iterable[tuple[str, int]],
    sources: Mapping[str, str | None],
    sources_ns: Mapping[str, Mapping[str, int]],
) -> list[Segment]:
    """Segments in the order given; a call's parts come in the order of time."""
    drawn = [(stage, ns) for stage, ns in parts if ns > 0]
    whole = sum(ns for _, ns in drawn)
    return [
        Segment(
            stage=stage,
            ns=ns,
            share=ns / whole,
            guessed=_guessed(ns, sources_ns.get(stage)),
            source=sources.get(stage),
        )
        for stage, ns in drawn
    ]


def _guessed(ns: int, by_source: Mapping[str, int] | None) -> float:
    return min(1.0, (by_source or {}).get(Source.ESTIMATED, 0) / ns)


def spoken(drawn: list[Segment], wall_ns: int, *, so_far: bool) -> str:
    """All of the bar's figures in words, for those who cannot see it."""
    figures = "; ".join(f"{s.label} {s.time}, {percent(s.share)}" for s in drawn)
    return f"{'So far ' if so_far else ''}{duration(wall_ns)}: {figures or 'nothing measured yet'}"
