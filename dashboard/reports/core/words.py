"""What the report says, by rules. Each sentence carries its numbers; nothing is said of what is inside the noise.
Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dashboard.reports.core.causes import Cause, Shift, Why
from dashboard.reports.core.engines import EngineFigure, EngineRow
from dashboard.reports.core.facts import Facts
from dashboard.reports.core.noise import Change
from dashboard.reports.core.parts import Cause as Where
from dashboard.reports.core.parts import Split
from dashboard.reports.core.paths import Place, series_path
from dashboard.reports.core.values import DeployRow, Sentence
from dashboard.reports.core.weeks import Week
from dashboard.reports.core.writing import Writer
from ingest.read.figuring import Sums
from ingest.rollups.counting import Kind
from ingest.stages.model import Stage

STAGE_WORDS = {
    "prefill": "prefill", "decode": "decode", "tool_parsing": "tool parsing", "tool_execution": "tool execution",
    "re_encoding": "re-encoding", "continue_decode": "continue decode", "queue": "waiting in the engine’s queue",
    "transport": "transport", "model_unsplit": "model time that nobody splits", "orchestration": "the agent’s own code",
}  # fmt: skip


STAGES = tuple(stage.value for stage in Stage)
ENGINE_WORDS = {
    "queue": "let a request wait {} in its queue", "ttft": "took {} to the first token",
    "tpot": "took {} an output token", "itl": "took {} from token to token",
}  # fmt: skip
MOST_OF_AN_ENGINE = 2  # figures in a sentence


def name_of(service: str | None) -> str:
    return "runs without a service" if service is None else service


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A service that changed beyond the noise, and why. ``direction`` is 1 where it got slower; where only a stage
    did, ``facts.moved`` is 0."""

    service: str | None
    facts: Facts
    cause: Cause
    ns: int  # of the change of the mean
    direction: int

    @property
    def slower(self) -> bool:
        return self.direction > 0


class Speaker:
    """Says things about one week, whose figures lie in two ranges of time."""

    def __init__(self, week: Week, before: tuple[int, int], after: tuple[int, int]) -> None:
        self.week = week
        self.ranges = before, after

    def _writer(self, service: str | None = None, dimension: str = "", group: str | None = None) -> Writer:
        before, after = (
            Place(from_ns=first, to_ns=last, service=service, dimension=dimension, group=group)
            for first, last in self.ranges
        )
        return Writer(before, after)

    def _of_service(self, service: str | None) -> Writer:
        return self._writer(dimension="service") if service is None else self._writer(service)

    # ---- weeks of which there is little to say ----

    def empty(self) -> Sentence:
        return self._writer().sentence(f"No runs ended in week {self.week.number}.")

    def first(self, facts: Facts) -> Sentence:
        w = self._writer()
        runs = w.count(w.after, "runs/count", facts.after.runs, "run")
        p95 = w.time(w.after, "runs/wall/p95_ns", facts.p95.after)
        return w.sentence(f"The first week with data: {runs}, p95 wall time {p95}.")

    def few(self, facts: Facts) -> Sentence:
        w = self._writer()
        runs = w.count(w.after, "runs/count", facts.after.runs, "run")
        former = w.count(w.before, "runs/count", facts.before.runs, "run")
        return w.sentence(f"Too few runs to compare: {runs}, after {former} the week before.")

    def quiet(self, facts: Facts) -> Sentence:
        w = self._writer()
        was, now = w.times("runs/wall/p95_ns", facts.p95.before, facts.p95.after)
        return w.sentence(f"A quiet week: p95 wall time was {now}, {was} the week before.")

    def nothing_moved(self, *, engines: bool) -> Sentence:
        """Engines are spoken of where there are any."""
        things = "service, stage, tool, cache or engine" if engines else "service, stage, tool or cache"
        return Sentence(text=f"No {things} changed by more than the noise; nothing to act on.")

    # ---- the headline ----

    def headline(self, facts: Facts, mover: Mover | None, shift: list[Shift]) -> Sentence:
        """What changed for all runs, else for the service that changed most; and why."""
        w = self._writer()
        text = self._overall(w, facts)
        tone = "worse" if facts.moved > 0 else "better"
        reason = mover if mover and (not facts.moved or mover.slower == (facts.moved > 0)) else None
        if not text:
            assert mover is not None
            text, tone = self._what(w, mover), "worse" if mover.slower else "better"
        if shift and (reason is None or abs(sum(s.ns for s in shift)) > abs(reason.ns)):
            text += f", because {self._shift(w, shift, facts.moved or 1)}"
        elif reason:
            text += self._why(w, reason, ", because ")
        return w.sentence(f"{text}.", tone)

    def _what(self, w: Writer, mover: Mover) -> str:
        """What changed of a service: its wall time, else a stage of it."""
        own, service = self._of_service(mover.service), name_of(mover.service)
        facts = mover.facts
        if facts.moved:
            changes = (
                (facts.wall, "mean_ns", "a run"),
                (facts.p50, "p50_ns", "at p50"),
                (facts.p95, "p95_ns", "at p95"),
            )
            change, figure, label = next(told for told in changes if told[0].claimed)
            was, now = own.times(f"runs/wall/{figure}", change.before, change.after)
            text = f"{service} got {'slower' if mover.slower else 'faster'}, from {was} to {now} {label}"
        else:
            assert facts.stage is not None
            stage, change = facts.stage
            group = "stages" if stage in STAGES else "outside"
            was, now = own.times(f"runs/{group}/{stage}/mean_ns", change.before, change.after)
            more = "more" if mover.slower else "less"
            text = f"{service} spent {more} time in {STAGE_WORDS[stage]}, {now} a run instead of {was}"
        w.rests += own.rests
        return text

    def _why(self, w: Writer, mover: Mover, before: str) -> str:
        """The cause behind what was said; nothing where that was all."""
        is_said = mover.cause.why is Why.STAGE and not mover.facts.moved
        return "" if is_said else f"{before}{self._because(w, mover)}"

    def _overall(self, w: Writer, facts: Facts) -> str:
        p50, p95, mean = facts.p50, facts.p95, facts.wall
        if p50.claimed and p95.claimed and p50.rose == p95.rose:
            (a, b), (c, d) = (
                w.times("runs/wall/p50_ns", p50.before, p50.after), w.times("runs/wall/p95_ns", p95.before, p95.after)
            )  # fmt: skip
            return f"Runs got {_way(p50)}: wall time went from {a} to {b} at p50 and from {c} to {d} at p95"
        if p95.claimed:
            was, now = w.times("runs/wall/p95_ns", p95.before, p95.after)
            return f"The slowest runs got {_way(p95)}: p95 wall time {_went(p95)} from {was} to {now}"
        if p50.claimed:
            was, now = w.times("runs/wall/p50_ns", p50.before, p50.after)
            return f"The typical run got {_way(p50)}: p50 wall time {_went(p50)} from {was} to {now}"
        if mean.claimed:
            was, now = w.times("runs/wall/mean_ns", mean.before, mean.after)
            return f"Runs took {'longer' if mean.rose else 'less'} on average: {now} instead of {was}"
        return ""

    # ---- causes ----

    def _because(self, w: Writer, mover: Mover) -> str:
        """The cause as the end of a sentence, its numbers noted."""
        cause, change = mover.cause, mover.cause.change
        service = name_of(cause.service)
        own = self._of_service(cause.service)
        text = f"{service} spent more time in {STAGE_WORDS[cause.stage]}"
        if not mover.slower:
            text = f"{service} spent less time in {STAGE_WORDS[cause.stage]}"
        match cause.why:
            case Why.STAGE:
                was, now = (
                    own.mean_time(place, f"runs/totals_ns/{cause.stage}", "runs/count", _a_run(sums, cause.stage))
                    for place, sums in ((own.before, mover.facts.before), (own.after, mover.facts.after))
                )
                text += f", {now} a run instead of {was}"
            case Why.MODEL_SWAPPED:
                assert change is not None
                by_model = self._writer(cause.service, "model", cause.thing)
                was, now = (
                    own.share(value or 0.0, place.path("runs/count"), whole.path("runs/count"))
                    for place, whole, value in (
                        (by_model.before, own.before, change.before), (by_model.after, own.after, change.after)
                    )
                )  # fmt: skip
                text = f"{service} moved from the model {cause.former} to {cause.thing}"
                text += f", now in {now} of its runs after {was}"
            case Why.TOOL_TIME:
                assert change is not None
                tool = self._writer(cause.service, "tool", cause.thing)
                was, now = tool.times(f"tools/wall/{cause.share}_ns", change.before, change.after)
                own.rests += tool.rests
                text = f"{service}’s tool {cause.thing} took {now} instead of {was} ({cause.share})"
            case Why.TOOL_OFTEN:
                assert change is not None
                tool = self._writer(cause.service, "tool", cause.thing)
                was, now = (
                    own.ratio(value or 0.0, place.path("tools/count"), whole.path("runs/count"))
                    for place, whole, value in (
                        (tool.before, own.before, change.before), (tool.after, own.after, change.after)
                    )
                )  # fmt: skip
                text = f"{service} called its tool {cause.thing} {now} times a run instead of {was}"
            case Why.CACHE:
                assert change is not None
                was, now = self._shares(own, "calls/cache_hit_rate", change)
                text = f"{service}’s prompt cache hit {now} of its input tokens instead of {was}"
            case Why.CALLS:
                assert change is not None
                was, now = (
                    own.ratio(value or 0.0, place.path("calls/count"), place.path("runs/count"))
                    for place, value in ((own.before, change.before), (own.after, change.after))
                )
                text = f"{service} needed {now} model calls a run instead of {was}"
            case Why.INPUT | Why.OUTPUT:
                assert change is not None
                which = "input" if cause.why is Why.INPUT else "output"
                was, now = (
                    own.tokens(value or 0.0, place.path(f"runs/{which}_tokens"), place.path("runs/count"))
                    for place, value in ((own.before, change.before), (own.after, change.after))
                )
                verb = "sent" if cause.why is Why.INPUT else "wrote"
                text = f"{service} {verb} {now} {which} tokens a run instead of {was}"
            case Why.TPOT:
                assert change is not None
                was, now = own.times("calls/tpot/p50_ns", change.before, change.after)
                text = f"{service}’s models took {now} an output token instead of {was}"
        w.rests += own.rests
        return text

    def _shares(self, w: Writer, figure: str, change: Change) -> tuple[str, str]:
        return (
            w.share(change.before or 0.0, w.before.path(figure)), w.share(change.after or 0.0, w.after.path(figure))
        )  # fmt: skip

    def _shift(self, w: Writer, shift: list[Shift], direction: int) -> str:
        """More runs of what is slower than the rest, or fewer."""
        told = [s for s in shift if s.ns * direction > 0] or shift
        most = told[0]
        more = "more" if most.share.rose else "fewer"
        mine = self._writer(dimension="service", group=most.service)
        was, now = (
            w.share(value or 0.0, place.path("runs/count"), whole.path("runs/count"))
            for place, whole, value in (
                (mine.before, w.before, most.share.before), (mine.after, w.after, most.share.after)
            )
        )  # fmt: skip
        return f"{more} of them were {name_of(most.service)}’s: {now} of all runs instead of {was}"

    # ---- what stands below ----

    def since(self, at: int, service: str | None, deploys: Sequence[DeployRow]) -> Sentence:
        """On which day it began, and which version of the service went live then: beside it, not because of it."""
        w = self._writer()
        text = f"It began on {w.day(self.week, at)}"
        date = self.week.days[at].isoformat()
        for number, deploy in enumerate(deploys):
            if (deploy.service, deploy.date) == (service, date):
                version = w.version(self.week, number, deploy.version)
                return w.sentence(f"{text}, the day on which {deploy.service} {version} went live.")
        return w.sentence(f"{text}.")

    def also(self, mover: Mover) -> Sentence:
        """Another service that changed."""
        w = self._writer()
        text = self._what(w, mover)
        return w.sentence(f"{text}{self._why(w, mover, ': ')}.", "worse" if mover.slower else "better")

    def mix(self, split: Split, shift: list[Shift], movers: list[Mover]) -> Sentence:
        w = self._writer()
        none = "" if any(m.slower for m in movers) else "; no service got slower"
        moved = w.part(self.week, "split/moved_ns", split.moved_ns)
        mixed = w.part(self.week, "split/by_cause_ns/services", split.ns(cause=Where.SERVICES))
        return w.sentence(f"Of the change of the mean run, {moved}, the mix of services made {mixed}{none}.")

    def same_for_most(self) -> Sentence:
        return Sentence(text="The typical run did not change.")

    def failures(self, facts: Facts) -> Sentence:
        w = self._writer()
        was, now = self._shares(w, "runs/error_rate", facts.failures)
        return w.sentence(
            f"{'More' if facts.failures.rose else 'Fewer'} runs failed: {now} instead of {was}.",
            "worse" if facts.failures.rose else "better",
        )

    def tool_success(self, tool: str | None, change: Change) -> Sentence:
        w = self._writer(dimension="tool", group=tool)
        was, now = self._shares(w, "tools/success_rate", change)
        return w.sentence(
            f"The tool {tool} succeeded in {now} of its calls instead of {was}.", "worse" if change.fell else "better"
        )

    def cache(self, service: str | None, change: Change) -> Sentence:
        w = self._writer(service)
        was, now = self._shares(w, "calls/cache_hit_rate", change)
        return w.sentence(
            f"{name_of(service)}’s prompt cache hit {now} of its input tokens instead of {was}.",
            "worse" if change.fell else "better",
        )

    def engine(self, row: EngineRow) -> Sentence:
        """What an engine itself counted otherwise than the week before."""
        w, told = self._writer(), row.claimed[:MOST_OF_AN_ENGINE]
        said = [self._of_engine(w, row, figure) for figure in told]
        tone = "worse" if all(figure.worse for figure in told) else "" if any(f.worse for f in told) else "better"
        return w.sentence(f"By its own count, the engine {row.name} {' and '.join(said)}.", tone)

    def _of_engine(self, w: Writer, row: EngineRow, figure: EngineFigure) -> str:
        was_path, now_path = (partial(series_path, row.id, *within) for within in self.ranges)
        was, now = figure.change.before or 0.0, figure.change.after or 0.0
        if figure.name == "hit_rate":
            a, b = w.share(was, was_path("hit_rate", "share")), w.share(now, now_path("hit_rate", "share"))
            return f"found {b} of what it looked up in its prefix cache instead of {a}"
        if figure.name == "preemptions":
            a, b = (
                w.of_a_thousand(value, path("preemptions", "count"), path("finished", "count"))
                for value, path in ((was, was_path), (now, now_path))
            )
            return f"preempted {b} times in a thousand requests instead of {a}"
        a, b = w.time_of(was, was_path(figure.name, "mean")), w.time_of(now, now_path(figure.name, "mean"))
        return f"{ENGINE_WORDS[figure.name].format(b)} instead of {a}"

    # ---- should anyone act ----

    def act_on(self, mover: Mover) -> Sentence:
        w = self._writer()
        what = {
            Why.TOOL_TIME: f"the tool {mover.cause.thing}", Why.TOOL_OFTEN: f"how often {mover.cause.thing} is called",
            Why.CACHE: f"what changes the beginning of {name_of(mover.service)}’s prompts",
            Why.MODEL_SWAPPED: f"whether {mover.cause.thing} is worth it for {name_of(mover.service)}",
            Why.CALLS: f"why {name_of(mover.service)} needs more calls",
            Why.INPUT: f"what {name_of(mover.service)} puts into its context",
            Why.OUTPUT: f"why {name_of(mover.service)} writes more", Why.TPOT: "the engine’s load",
        }.get(mover.cause.why, f"{STAGE_WORDS[mover.cause.stage]} of {name_of(mover.service)}")  # fmt: skip
        part = w.part(self.week, "act_ns", mover.ns)
        return w.sentence(f"Worth acting on: look at {what}. It is {part} of the change of the mean run.", "worse")

    def no_need(self) -> Sentence:
        return Sentence(text="Nothing to act on.")

    def look_at_failures(self) -> Sentence:
        return Sentence(text="Worth acting on: look at what fails.", tone="worse")


def _a_run(week: Sums, stage: str) -> float:
    return week.sum(Kind.RUN, stage) / max(week.runs, 1)


def _way(change: Change) -> str:
    return "slower" if change.rose else "faster"


def _went(change: Change) -> str:
    return "rose" if change.rose else "fell"
