"""What runs, calls and tools count for: pure functions from rows to cells of log bins, which add and subtract.

A cell holds what ended in one step of time under one key. Everything in it is an integer and every item adds the same
wherever and whenever it is counted, so the order, the split and the repetition of additions and subtractions do not
matter. What decides whether a value may be shown in a quantile (estimated, unsplit) is in the key, not in the cell:
so the same cells give honest quantiles and sums that add up to the wall time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from ingest.packed import OWNERS, SOURCE_INDEX
from ingest.rollups.bins import bin_of, count_bins
from ingest.rollups.errors import error_kind
from ingest.rows import AS_ITS_RUN, CALL_COLUMNS, RUN_COLUMNS, TOOL_COLUMNS, Row, Rows
from ingest.stages.model import Source

MINUTE_NS = 60 * 10**9
SHARE_ONE = 1_000_000  # a share of 1, as its bins count it: parts per million
SHARE_MOST_TOKENS = 2**40  # beyond it a count of tokens is absurd and its share unknown
TOGETHER_FROM = 16  # values of a cell; below, setting out to count them together costs more than it saves
ESTIMATED_SOURCE = SOURCE_INDEX[Source.ESTIMATED]


class Kind(IntEnum):
    RUN = 0
    CALL = 1
    TOOL = 2


class Flag(IntFlag):
    """What of an item's state is part of its key. FAILED and OPEN tell of the run, also in keys of calls and tools."""

    FAILED = 1
    UNSPLIT = 2  # the run has model time that nobody splits, so its model stages are known only in part
    ESTIMATED = 4  # of a run: something in it was asked to be estimated; of a call: its split is an estimate
    OPEN = 8  # the run's root has not ended
    ERRED = 16  # the call or tool itself failed
    UNTOLD = 32  # nobody knows whether the tool succeeded; of a call: it does not tell its tokens, so nor its cost
    OTHER = 64  # one of the keys beyond the bound, which keep nothing but their flags


_OTHER = int(Flag.OTHER)  # an enum's own & costs a microsecond

METRICS: dict[Kind, tuple[str, ...]] = {
    Kind.RUN: (
        "wall", *(owner.value for owner in OWNERS), "ttft", "first_token", "ttft_sum", "input_tokens",
        "cached_tokens", "output_tokens", "cached_share", "cacheable_tokens",
    ),
    Kind.CALL: (
        "wall", "queue", "prefill", "decode", "ttft", "tpot", "input_tokens", "cached_tokens", "output_tokens",
        "cached_share", "cacheable_tokens",
    ),
    Kind.TOOL: ("wall",),
}  # fmt: skip

# What counting needs of rows, in this order; of stored rows ``basis`` is whether there is one.
RUN_TOLD = (
    "project_id", "trace_id", "root_span_id", "end_unix_ns", "failed", "root_ended", "basis", "environment", "service",
    "version", "agent", "engine", "model", "model_names", "wall_ns", *(f"{owner}_ns" for owner in OWNERS), "ttft_ns",
    "first_token_ns", "ttft_sum_ns", "input_tokens", "cached_tokens", "output_tokens", "error",
)  # fmt: skip
CALL_TOLD = (
    "project_id", "trace_id", "root_span_id", "start_unix_ns", "end_unix_ns", "source", "model", "engine",
    "queue_ns", "prefill_ns", "decode_ns", "ttft_ns", "tpot_ns", "input_tokens", "cached_tokens", "output_tokens",
    "error",
)  # fmt: skip
TOOL_TOLD = (
    "project_id", "trace_id", "root_span_id", "start_unix_ns", "end_unix_ns", "ok", "pseudo", "name", "error",
)  # fmt: skip
_told_of_run = itemgetter(*map(RUN_COLUMNS.index, RUN_TOLD))
_told_of_call = itemgetter(*map(CALL_COLUMNS.index, CALL_TOLD))
_told_of_tool = itemgetter(*map(TOOL_COLUMNS.index, TOOL_TOLD))
_RUN_VALUES = RUN_TOLD.index("wall_ns")
_CALL_VALUES = CALL_TOLD.index("queue_ns")
_CALL_TOKENS = slice(CALL_TOLD.index("input_tokens"), CALL_TOLD.index("output_tokens") + 1)
_UNSPLIT = RUN_TOLD.index("model_unsplit_ns")


class Key(NamedTuple):
    """Under what something counts. ``models`` are those of a run's calls, sorted, and none in keys of calls and
    tools; a call's ``engine`` is its own, else it is the run's. ``own`` is a call's model or a tool's name."""

    flags: int
    environment: str | None
    service: str | None
    version: str | None
    agent: str | None
    engine: str | None
    models: tuple[str, ...]
    own: str | None

    @property
    def is_other(self) -> bool:
        return self.flags & _OTHER != 0

    def as_other(self) -> Key:
        """Where the values of a key go that is beyond the bound."""
        return Key(self.flags | Flag.OTHER, None, None, None, None, None, (), None)

    def as_plain(self) -> Key:
        """Where it counts in plain steps."""
        return Key(self.flags, self.environment, self.service, None, self.agent, None, (), None)


class Place(NamedTuple):
    """Where a cell is: which minute, and under which key."""

    project_id: int
    kind: int
    minute: int
    key: Key


@dataclass(slots=True)
class Cell:
    """For each metric of the kind the sum of its values and how many of them lie in which bin; errors by kind."""

    sums: list[int]
    bins: list[dict[int, int]]
    errors: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: int) -> Cell:
        metrics = len(METRICS[Kind(kind)])
        return cls([0] * metrics, [{} for _ in range(metrics)])

    @property
    def count(self) -> int:
        """How many items: each has a wall time."""
        return sum(self.bins[0].values())

    def copy(self) -> Cell:
        return Cell(self.sums.copy(), [bins.copy() for bins in self.bins], self.errors.copy())

    def add(self, other: Cell, sign: int = 1) -> None:
        self.sums = [mine + sign * theirs for mine, theirs in zip(self.sums, other.sums, strict=True)]
        for into, bins in zip(self.bins, other.bins, strict=True):
            if bins:
                add_bins(into, bins, sign)
        add_bins(self.errors, other.errors, sign)

    def subtract(self, other: Cell) -> None:
        self.add(other, -1)

    def tidy(self) -> bool:
        """Drop counts of zero; whether anything is left."""
        if not all(map(all, map(dict.values, self.bins))):  # most cells were never subtracted from
            self.bins = [{index: n for index, n in bins.items() if n} for bins in self.bins]
        self.errors = {kind: n for kind, n in self.errors.items() if n}
        return any(self.sums) or any(self.bins) or bool(self.errors)


Item = tuple[Any, ...]
"""An item's values as its kind's metrics order them, without the last two that follow from them, then its error."""


class Gathered:
    """Items by where they count, which is all that a worker does about them: binning many at once costs a third."""

    def __init__(self) -> None:
        self.groups: defaultdict[tuple[Any, ...], list[Item]] = defaultdict(list)  # by project, sign, kind, minute, key

    def add_rows(self, rows: Rows) -> None:
        """Rows that are being written."""
        self.add(map(_told_of_run, rows.runs), map(_told_of_call, rows.calls), map(_told_of_tool, rows.tools), 1)

    def add(self, runs: Iterable[Row], calls: Iterable[Row], tools: Iterable[Row], sign: int) -> None:
        """Rows of RUN_TOLD, CALL_TOLD and TOOL_TOLD, to be counted or with ``sign`` -1 to be taken back. The run of
        each call and tool is among the runs."""
        groups = self.groups
        whose: dict[tuple[Any, Any, Any], tuple[Any, ...]] = {}
        for run in runs:
            (
                project_id, trace_id, root_span_id, end_ns, failed, root_ended, basis, environment, service, version,
                agent, engine, model, model_names,
            ) = run[:_RUN_VALUES]  # fmt: skip
            failing = 1 if failed else 0
            flags = failing | (2 if run[_UNSPLIT] else 0) | (4 if basis else 0) | (0 if root_ended else 8)
            models: tuple[str, ...] = (model,) if model else ()
            if model_names is not None:
                models = _models(tuple(model_names))
            told = failing, environment, service, version, agent, engine, model
            whose[project_id, trace_id, root_span_id] = whose[project_id, trace_id, None] = told
            groups[
                project_id, sign, 0, end_ns // MINUTE_NS, flags, environment, service, version, agent, engine, models,
                None,
            ].append(run[_RUN_VALUES:])  # fmt: skip
        for call in calls:
            project_id, trace_id, root_span_id, start_ns, end_ns, source, model, engine = call[:_CALL_VALUES]
            failing, environment, service, version, agent, _, of_run = whose[project_id, trace_id, root_span_id]
            flags = failing | (4 if source == ESTIMATED_SOURCE else 0) | (0 if call[-1] is None else 16)
            flags |= 0 if tells_tokens(*call[_CALL_TOKENS]) else 32
            groups[
                project_id, sign, 1, end_ns // MINUTE_NS, flags, environment, service, version, agent, engine, (),
                of_run if model == AS_ITS_RUN else model,
            ].append((end_ns - start_ns, *call[_CALL_VALUES:]))  # fmt: skip
        for project_id, trace_id, root_span_id, start_ns, end_ns, ok, pseudo, name, error in tools:
            if pseudo:
                continue
            failing, environment, service, version, agent, engine, _ = whose[project_id, trace_id, root_span_id or None]
            flags = failing | (32 if ok is None else 0 if ok else 16)
            groups[
                project_id, sign, 2, end_ns // MINUTE_NS, flags, environment, service, version, agent, engine, (), name
            ].append((end_ns - start_ns, error or None))


class Tally:
    """Cells that are added up."""

    def __init__(self) -> None:
        self.cells: dict[Place, Cell] = {}

    def count(self, place: Place, items: Sequence[Item], sign: int) -> None:
        """Count items: some fifty values a run come through here."""
        cell = self._cell(place)
        *columns, errors = zip(*items, strict=True)
        if place.kind != Kind.TOOL:
            asked, cached = columns[-3], columns[-2]
            columns.append(tuple(map(cached_share, asked, cached)))
            columns.append(tuple(map(_cacheable, asked, cached)))
        count = _count_one_by_one if len(items) < TOGETHER_FROM else _count_together
        for at, column in enumerate(columns):
            known = [value for value in column if value is not None]
            if known:
                cell.sums[at] += sign * sum(known)
                count(cell.bins[at], known, sign)
        failed = [error_kind(error) for error in errors if error is not None]
        if failed:
            add_bins(cell.errors, Counter(failed), sign)

    def merge(self, cells: Iterable[tuple[Place, Cell]]) -> None:
        for place, cell in cells:
            self._cell(place).add(cell)

    def tidy(self) -> None:
        self.cells = {place: cell for place, cell in self.cells.items() if cell.tidy()}

    def _cell(self, place: Place) -> Cell:
        cell = self.cells.get(place)
        if cell is None:
            cell = self.cells[place] = Cell.of(place.kind)
        return cell


def cached_share(input_tokens: int | None, cached_tokens: int | None) -> int | None:
    """Cached of input tokens in parts per million; unknown without both, and where they cannot be."""
    if input_tokens is None or cached_tokens is None or not 0 < input_tokens < SHARE_MOST_TOKENS:
        return None
    return cached_tokens * SHARE_ONE // input_tokens if 0 <= cached_tokens <= input_tokens else None


def tells_tokens(input_tokens: int | None, cached_tokens: int | None, output_tokens: int | None) -> bool:
    """Whether a call tells all that it costs by: its input and output tokens, and cached ones, if any, that can be."""
    if input_tokens is None or output_tokens is None or input_tokens < 0 or output_tokens < 0:
        return False
    return cached_tokens is None or 0 <= cached_tokens <= input_tokens


def _cacheable(input_tokens: int | None, cached_tokens: int | None) -> int | None:
    """Input tokens of which it is known how many were cached: what a hit rate is a share of."""
    return None if cached_tokens is None else input_tokens


def _count_one_by_one(bins: dict[int, int], values: Iterable[int], sign: int) -> None:
    for value in values:
        index = bin_of(value)
        bins[index] = bins.get(index, 0) + sign


def _count_together(bins: dict[int, int], values: Sequence[int], sign: int) -> None:
    add_bins(bins, count_bins(values), sign)


_Bin = TypeVar("_Bin", int, str)


def add_bins(into: dict[_Bin, int], counts: Mapping[_Bin, int], sign: int = 1) -> None:
    if not into and sign > 0:
        into.update(counts)
        return
    get = into.get
    for index, count in counts.items():
        into[index] = get(index, 0) + sign * count


@lru_cache(maxsize=4_096)
def _models(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
