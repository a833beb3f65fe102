"""From cells to figures: which counts a quantile may rest on, and what sums say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ingest.costs import Cost
from ingest.packed import OWNERS
from ingest.read.values import Band, CallFigures, Chain, Distribution, Errors, Figures, RunFigures, ToolFigures
from ingest.rollups.bins import midpoint, quantiles
from ingest.rollups.counting import METRICS, Flag, Kind
from ingest.rollups.piles import Part, Pile, add_columns
from ingest.stages.model import Outside, Stage

_AT = {kind: {metric: at for at, metric in enumerate(metrics)} for kind, metrics in METRICS.items()}
_ESTIMATED, _NOT_COMPLETED = int(Flag.ESTIMATED), int(Flag.FAILED | Flag.OPEN)
BANDS_NS = (500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000, 10_000_000_000)
# In a run with model time that nobody splits these are only known in part.
_OF_MODELS: dict[str, int] = dict.fromkeys(
    (Stage.PREFILL, Stage.DECODE, Stage.TOOL_PARSING, Stage.RE_ENCODING, Stage.CONTINUE_DECODE), Flag.UNSPLIT
)
# A guess is good enough for one run's bar, not for a figure that alerts hang on.
_WITHOUT: dict[Kind, dict[str, int]] = {
    Kind.RUN: {"ttft": Flag.ESTIMATED, "first_token": Flag.ESTIMATED, "ttft_sum": Flag.ESTIMATED, **_OF_MODELS},
    Kind.CALL: dict.fromkeys(("ttft", "tpot", "prefill", "decode"), Flag.ESTIMATED),
    Kind.TOOL: {},
}


class Sums:
    """Cells of each kind by the flags of their keys, added up, and what the calls among them cost."""

    def __init__(self) -> None:
        self.cells: dict[tuple[Kind, int], Pile] = {}
        self.cost = Cost()

    def add(self, kind: Kind, flags: int, part: Part) -> None:
        place = kind, flags
        if place in self.cells:
            self.cells[place].add(part)
        else:
            self.cells[place] = Pile(part)

    def merge(self, other: Sums) -> None:
        """After which nothing is added to the other."""
        for (kind, flags), pile in other.cells.items():
            self.add(kind, flags, pile)
        self.cost += other.cost

    def counted(self, kind: Kind, with_: int = 0, without: int = 0) -> int:
        """How many items have all of the one flags and none of the others."""
        with_, without = int(with_), int(without)
        return sum(cell.count for flags, cell in self._of(kind) if flags & with_ == with_ and not flags & without)

    @property
    def runs(self) -> int:
        return self.counted(Kind.RUN)

    @property
    def count(self) -> int:
        return sum(cell.count for cell in self.cells.values())

    def sum(self, kind: Kind, metric: str) -> int:
        """The sum over all items that have the value."""
        return sum(cell.sums[_AT[kind][metric]] for _, cell in self._of(kind))

    def known(self, kind: Kind, metric: str) -> int:
        """How many items have the value."""
        return sum(cell.known(_AT[kind][metric]) for _, cell in self._of(kind))

    def bins(self, kind: Kind, metric: str) -> tuple[dict[int, int], int]:
        """The bins that a quantile may rest on, and the sum of their values."""
        at, without = _AT[kind][metric], int(_WITHOUT[kind].get(metric, 0))  # an enum's own & is slow
        fitting = [cell for flags, cell in self._of(kind) if not flags & without]
        return add_columns(cell.column(at) for cell in fitting), sum(cell.sums[at] for cell in fitting)

    def mean(self, kind: Kind, metric: str) -> float | None:
        """Of what every item has (a run its stages), without adding up bins; of the same items as ``bins``."""
        at, without = _AT[kind][metric], int(_WITHOUT[kind].get(metric, 0))
        fitting = [cell for flags, cell in self._of(kind) if not flags & without]
        count = sum(cell.count for cell in fitting)
        return sum(cell.sums[at] for cell in fitting) / count if count else None

    def completion(self) -> list[Band]:
        """Completed runs by band of their TTFT, which is that of a final answer: without one a run is in none."""
        at = _AT[Kind.RUN]["ttft"]
        runs, completed = [0] * (len(BANDS_NS) + 1), [0] * (len(BANDS_NS) + 1)
        for flags, cell in self._of(Kind.RUN):
            if flags & _ESTIMATED:
                continue
            for index, count in cell.column(at).as_bins().items():
                band = bisect_right(BANDS_NS, midpoint(index))
                runs[band] += count
                completed[band] += 0 if flags & _NOT_COMPLETED else count
        bounds = (0, *BANDS_NS, None)
        return [
            Band(from_ns=bounds[band] or 0, to_ns=bounds[band + 1], runs=runs[band], completed=completed[band])
            for band in range(len(runs))
        ]

    def errors(self, kind: Kind) -> dict[str, int]:
        found: dict[str, int] = {}
        for _, cell in self._of(kind):
            for name, count in cell.errors.items():
                found[name] = found.get(name, 0) + count
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    def _of(self, kind: Kind) -> list[tuple[int, Pile]]:
        return [(flags, cell) for (of, flags), cell in self.cells.items() if of is kind]


def figures_of(sums: Sums, kinds: Sequence[Kind]) -> Figures:
    return Figures(
        runs=_runs(sums) if Kind.RUN in kinds else None,
        calls=_calls(sums) if Kind.CALL in kinds else None,
        tools=_tools(sums) if Kind.TOOL in kinds else None,
    )


def _runs(sums: Sums) -> RunFigures:
    count = sums.counted(Kind.RUN)
    failed = sums.counted(Kind.RUN, with_=Flag.FAILED)
    return RunFigures(
        count=count,
        failed=failed,
        error_rate=failed / count if count else None,
        errors=_errors(sums, Kind.RUN),
        wall=_spread(sums, Kind.RUN, "wall"),
        ttft=_spread(sums, Kind.RUN, "ttft"),
        first_token=_spread(sums, Kind.RUN, "first_token"),
        ttft_sum=_spread(sums, Kind.RUN, "ttft_sum"),
        stages={stage.value: _spread(sums, Kind.RUN, stage) for stage in Stage},
        outside={outside.value: _spread(sums, Kind.RUN, outside) for outside in Outside},
        totals_ns={owner.value: sums.sum(Kind.RUN, owner) for owner in OWNERS},
        chain=_chain(sums),
        completion=sums.completion(),
        unsplit=sums.counted(Kind.RUN, with_=Flag.UNSPLIT),
        estimated=sums.counted(Kind.RUN, with_=Flag.ESTIMATED),
        **_tokens(sums, Kind.RUN),
    )


def _chain(sums: Sums) -> Chain:
    def spent_ns(*owners: Stage | Outside) -> int:
        return sum(sums.sum(Kind.RUN, owner) for owner in owners)

    intent = Stage.PREFILL, Stage.DECODE, Stage.TOOL_PARSING
    final = Stage.RE_ENCODING, Stage.CONTINUE_DECODE
    in_models_ns = spent_ns(Stage.PREFILL, Stage.DECODE, *final, Outside.QUEUE, Outside.MODEL_UNSPLIT)
    wall_ns = sums.sum(Kind.RUN, "wall")
    return Chain(
        network_ns=spent_ns(Outside.TRANSPORT),
        queue_ns=spent_ns(Outside.QUEUE),
        intent_ns=spent_ns(*intent),
        tools_ns=spent_ns(Stage.TOOL_EXECUTION),
        final_ns=spent_ns(*final),
        unsplit_ns=spent_ns(Outside.MODEL_UNSPLIT),
        own_ns=spent_ns(Outside.ORCHESTRATION),
        model_share=in_models_ns / wall_ns if wall_ns else None,
    )


def _calls(sums: Sums) -> CallFigures:
    count = sums.counted(Kind.CALL)
    failed = sums.counted(Kind.CALL, with_=Flag.ERRED)
    return CallFigures(
        count=count,
        failed=failed,
        error_rate=failed / count if count else None,
        errors=_errors(sums, Kind.CALL),
        **_spreads(sums, Kind.CALL, ("wall", "queue", "prefill", "decode", "ttft", "tpot")),
        estimated=sums.counted(Kind.CALL, with_=Flag.ESTIMATED),
        **_tokens(sums, Kind.CALL),
        cost=sums.cost.amount,
        cost_unknown_calls=sums.cost.unknown,
        cost_at_most_calls=sums.cost.at_most,
    )


def _tools(sums: Sums) -> ToolFigures:
    count = sums.counted(Kind.TOOL)
    failed, untold = (sums.counted(Kind.TOOL, with_=flag) for flag in (Flag.ERRED, Flag.UNTOLD))
    told = count - untold
    return ToolFigures(
        count=count,
        failed=failed,
        unknown=untold,
        success_rate=(told - failed) / told if told else None,
        errors=_errors(sums, Kind.TOOL),
        wall=_spread(sums, Kind.TOOL, "wall"),
    )


def _errors(sums: Sums, kind: Kind) -> Errors:
    return sums.errors(kind)


def _spreads(sums: Sums, kind: Kind, metrics: Sequence[str]) -> dict[str, Any]:
    return {metric: _spread(sums, kind, metric) for metric in metrics}


def _spread(sums: Sums, kind: Kind, metric: str) -> Distribution:
    bins, total = sums.bins(kind, metric)
    count = sum(bins.values())
    p50, p90, p95, p99 = quantiles(bins, (0.5, 0.9, 0.95, 0.99))
    return Distribution(
        count=count, p50_ns=p50, p90_ns=p90, p95_ns=p95, p99_ns=p99, sum_ns=total if count else None,
        mean_ns=total // count if count else None,
    )  # fmt: skip


def _tokens(sums: Sums, kind: Kind) -> dict[str, Any]:
    """Sums over those that tell; a hit rate over those of which both the cached and all input tokens are known."""
    told = {
        name: sums.sum(kind, name) if sums.known(kind, name) else None
        for name in ("input_tokens", "cached_tokens", "output_tokens")
    }
    of = sums.sum(kind, "cacheable_tokens")
    cached = told["cached_tokens"]
    hit_rate = cached / of if cached is not None and of > 0 else None
    return {**told, "cacheable_tokens": of, "cache_hit_rate": hit_rate}
