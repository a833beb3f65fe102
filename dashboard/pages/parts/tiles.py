"""The key figures on the status page: rates and quantiles of the last minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard import figures
from dashboard.figures import NOT_KNOWN, Figure
from ingest.observing.processes import ProcessRow
from ingest.observing.queue import Depth
from ingest.observing.samples import Samples, quantile, total


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A key figure. ``sides`` are smaller figures under it, ``note`` words in their place."""

    name: str
    of: str
    value: Figure
    sides: Sequence[tuple[str, Figure]] = ()
    note: str = ""


def tiles(
    processes: Sequence[ProcessRow], recent: Samples, depth: Depth, database_bytes: int, free: tuple[int, int] | None
) -> list[Tile]:
    fresh = [process for process in processes if process.is_fresh]
    rates = {
        name: rate(fresh, f"sixstage_{name}_total", roles)
        for name, roles in (
            ("stored_items", ("web", "receiver")), ("refused_requests", ("web", "receiver")),
            ("written_rows", ("worker",)), ("decomposed_traces", ("worker",)),
        )
    }  # fmt: skip
    spans = rate(fresh, "sixstage_stored_items_total", ("web", "receiver"), signal="traces")
    return [
        Tile(name="Spans", of="a second", value=a_second(spans),
             sides=[("all signals", a_second(rates["stored_items"]))]),
        Tile(name="Refused", of="requests/s", value=a_second(rates["refused_requests"]),
             sides=[("items", a_second(rate(fresh, "sixstage_refused_items_total", ("web", "receiver"))))]),
        _quantiles("Answer", "p95", recent, "sixstage_ack_seconds"),
        _quantiles("Receive to visible", "p95", recent, "sixstage_visible_lag_seconds"),
        Tile(name="Queue", of="traces", value=figures.count(depth.claimed + depth.due + depth.retrying),
             sides=[("oldest", figures.duration(depth.oldest_age_ns))] if depth.oldest_age_ns is not None else (),
             note="" if depth.oldest_age_ns is not None else "none overdue"),
        Tile(name="Rows written", of="a second", value=a_second(rates["written_rows"]),
             sides=[("traces", a_second(rates["decomposed_traces"]))]),
        Tile(name="Database", of="", value=figures.size(database_bytes)),
        Tile(name="Disk free", of="", value=figures.size(free[0]) if free else NOT_KNOWN,
             sides=[("of", figures.size(free[1]))] if free else ()),
    ]  # fmt: skip


def _quantiles(name: str, of: str, recent: Samples, histogram: str) -> Tile:
    p50, p95, p99 = (_seconds(quantile(recent, histogram, q)) for q in (0.5, 0.95, 0.99))
    return Tile(
        name=name, of=of, value=p95, sides=[] if p95 == NOT_KNOWN else [("p50", p50), ("p99", p99)],
        note="none in the last minute" if p95 == NOT_KNOWN else "",
    )  # fmt: skip


def _seconds(seconds: float | None) -> Figure:
    return NOT_KNOWN if seconds is None else figures.duration(int(seconds * 1e9))


def rate(processes: Sequence[ProcessRow], name: str, roles: tuple[str, ...], **labels: str) -> float | None:
    """The sum over these processes; unknown where none of them speaks."""
    rates = [
        each
        for process in processes
        if process.role in roles and (each := process.a_second(total(process.recent, name, **labels))) is not None
    ]
    return sum(rates) if rates else None


def a_second(number: float | None) -> Figure:
    if number is None:
        return NOT_KNOWN
    return Figure(f"{number:.1f}") if 0 < number < 9.95 else figures.count(round(number))
