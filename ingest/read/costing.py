"""What runs, calls and cells of calls cost, by the prices of their project."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.costs import ANY, Cost, Pricing, Rates, call_cost, calls_cost, total
from ingest.read.rows import select
from ingest.read.values import CallRow, RunDetail, RunRow
from ingest.rollups.counting import METRICS, Flag, Kind
from ingest.rollups.from_rows import TELLS_TOKENS
from ingest.rollups.piles import Part
from ingest.rows import AS_ITS_RUN, called_model_sql, of_run_sql
from ingest.scope import Scope

SINCE_EVER_NS = -(2**62)
_UNTOLD = int(Flag.UNTOLD)
_WALL, _INPUT, _CACHED, _OUTPUT = (
    METRICS[Kind.CALL].index(name) for name in ("wall", "input_tokens", "cached_tokens", "output_tokens")
)


def cell_cost(rates: Rates | None, flags: int, cell: Part) -> Cost:
    """Of the calls of a cell that ended while these rates were valid. Cells that were counted before calls without
    tokens had keys of their own may mix them with others: nobody knows then what these cost."""
    if rates is None:
        return Cost(unknown=cell.known(_WALL))
    count, asked, cached, answered = map(cell.known, (_WALL, _INPUT, _CACHED, _OUTPUT))
    if flags & _UNTOLD or not asked == answered == count:
        return Cost(unknown=count)
    return calls_cost(
        rates, count, cell.sums[_INPUT], cell.sums[_CACHED], cell.sums[_OUTPUT], cached_untold=count - cached
    )  # fmt: skip


def cost_sql(pricing: Pricing) -> tuple[str, list[Any]]:
    """SQL for what the calls of ``ingest_run``'s row cost together, in picos; null where no call's cost is known.
    The first table that has a price of a call's model at its end tells it: the exact name, then the longest
    beginning, then the latest."""
    begins = dict(zip(pricing.dates, (SINCE_EVER_NS, *pricing.changes), strict=True))
    prices: list[Any] = []
    for order, table in enumerate(pricing.tables):
        for pattern, listed in table.items():
            beginning = pattern.endswith(ANY)
            for price in listed:
                rates = price.rates or (None, None, None)
                prices += [order, pattern.removesuffix(ANY), beginning, begins[price.begins], *rates]
    model = called_model_sql("item", "ingest_run")
    row = "(%s::int, %s::text, %s::boolean, %s::bigint, %s::numeric, %s::numeric, %s::numeric)"
    told = f"VALUES {', '.join([row] * (len(prices) // 7))}"
    return (
        f"""SELECT sum((item.input_tokens - coalesce(item.cached_tokens, 0)) * price.input
                     + coalesce(item.cached_tokens, 0) * price.cached + item.output_tokens * price.output)
            FROM ingest_call AS item CROSS JOIN LATERAL (
                SELECT input, cached, output FROM ({told}) AS price (place, model, part, from_ns, input, cached, output)
                WHERE from_ns <= item.end_unix_ns
                  AND CASE WHEN part THEN starts_with({model}, price.model) ELSE {model} = price.model END
                ORDER BY place, part, length(price.model) DESC, from_ns DESC LIMIT 1
            ) AS price
            WHERE item.trace_id = ingest_run.trace_id AND {of_run_sql('item', 'ingest_run')}
              AND item.project_id = ingest_run.project_id AND item.day = ingest_run.day AND {TELLS_TOKENS}""",
        prices,
    )


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
    by_run = defaultdict(list)
    for call in calls:
        by_run[bytes(call["trace_id"]), call["root_span_id"] and bytes(call["root_span_id"])].append(call)
    for run, row in zip(runs, rows, strict=True):
        trace_id = bytes(row["trace_id"])
        of_run = by_run[trace_id, bytes(row["root_span_id"])] + by_run[trace_id, None]  # an only run's have no root
        _write(run, pricing, total([_of_row(pricing, call, run.model) for call in of_run]))


def _of_row(pricing: Pricing, call: Mapping[str, Any], of_run: str | None) -> Cost:
    model = of_run if call["model"] == AS_ITS_RUN else call["model"]
    rates = pricing.rates(model, call["end_unix_ns"])
    return call_cost(rates, call["input_tokens"], call["cached_tokens"], call["output_tokens"])


def _of_call(pricing: Pricing, call: CallRow) -> Cost:
    rates = pricing.rates(call.model, call.start_unix_ns + call.wall_ns)
    return call_cost(rates, call.input_tokens, call.cached_tokens, call.output_tokens)


def _write(run: RunRow, pricing: Pricing, cost: Cost) -> None:
    run.currency, run.cost = pricing.currency, cost.amount
    run.cost_unknown_calls, run.cost_at_most_calls = cost.unknown, cost.at_most
