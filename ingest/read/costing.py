"""What runs, calls and cells of calls cost, by the prices of their project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.costs import Cost, Pricing, Rates, call_cost, calls_cost, total
from ingest.read.rows import select
from ingest.read.values import CallRow, RunDetail, RunRow
from ingest.rollups.counting import METRICS, Cell, Flag, Kind
from ingest.scope import Scope

_UNTOLD = int(Flag.UNTOLD)
_INPUT, _CACHED, _OUTPUT = (
    METRICS[Kind.CALL].index(name) for name in ("input_tokens", "cached_tokens", "output_tokens")
)


def cell_cost(rates: Rates | None, flags: int, cell: Cell) -> Cost:
    """Of the calls of a cell that ended while these rates were valid. Cells that were counted before calls without
    tokens had keys of their own may mix them with others: nobody knows then what these cost."""
    count = cell.count
    asked, cached, answered = (sum(cell.bins[at].values()) for at in (_INPUT, _CACHED, _OUTPUT))
    if flags & _UNTOLD or not asked == answered == count:
        return Cost(unknown=count)
    return calls_cost(
        rates, count, cell.sums[_INPUT], cell.sums[_CACHED], cell.sums[_OUTPUT], cached_untold=count - cached
    )  # fmt: skip


def price_run(pricing: Pricing, run: RunDetail) -> None:
    """Write into a run and its calls what they cost, if anything has a price."""
    if not pricing:
        return
    costs = [_of_call(pricing, call) for call in run.calls]
    for call, cost in zip(run.calls, costs, strict=True):
        call.cost = cost.amount
    _write(run, pricing, total(costs))


def price_runs(scope: Scope, pricing: Pricing, runs: Sequence[RunRow], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write into runs, of which these are the rows, what their calls cost together, if anything has a price."""
    if not pricing or not runs:
        return
    where, parameters = scope.where("call")
    calls = select(
        f"""SELECT call.trace_id, call.root_span_id, model, end_unix_ns, input_tokens, cached_tokens, output_tokens
            FROM ingest_call AS call WHERE {where} AND day = ANY(%s::date[]) AND trace_id = ANY(%s::bytea[])""",
        [*parameters, list({row["day"] for row in rows}), list({bytes(row["trace_id"]) for row in rows})],
    )
    costs: defaultdict[tuple[bytes, bytes], Cost] = defaultdict(Cost)
    for call in calls:
        rates = pricing.rates(call["model"], call["end_unix_ns"])
        costs[bytes(call["trace_id"]), bytes(call["root_span_id"])] += call_cost(
            rates, call["input_tokens"], call["cached_tokens"], call["output_tokens"]
        )
    for run, row in zip(runs, rows, strict=True):
        _write(run, pricing, costs[bytes(row["trace_id"]), bytes(row["root_span_id"])])


def _of_call(pricing: Pricing, call: CallRow) -> Cost:
    rates = pricing.rates(call.model, call.start_unix_ns + call.wall_ns)
    return call_cost(rates, call.input_tokens, call.cached_tokens, call.output_tokens)


def _write(run: RunRow, pricing: Pricing, cost: Cost) -> None:
    run.currency, run.cost = pricing.currency, cost.amount
    run.cost_unknown_calls, run.cost_at_most_calls = cost.unknown, cost.at_most
