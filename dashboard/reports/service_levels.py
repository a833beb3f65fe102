"""A week's alerts and objectives, from their history."""

from __future__ import annotations

from dashboard.alerts.history import read_firings, read_slo_results
from dashboard.alerts.readings import Incomplete
from dashboard.reports.core.values import AlertRow, SloRow
from ingest.scope import Scope


def read_alerts(scope: Scope, from_ns: int, to_ns: int, now_ns: int) -> list[AlertRow]:
    """By rule, those that fired longest first. Only their time within the range counts."""
    rows: dict[tuple[str, str], tuple[int, int]] = {}
    for firing in read_firings(scope, from_ns, to_ns):
        begin, end = max(firing.fired_unix_ns, from_ns), min(firing.resolved_unix_ns or now_ns, to_ns)
        times, lasted = rows.get((firing.rule, firing.severity), (0, 0))
        rows[firing.rule, firing.severity] = times + 1, lasted + max(0, end - begin)
    told = [AlertRow(rule=r, severity=s, fired=n, firing_ns=ns) for (r, s), (n, ns) in rows.items()]
    return sorted(told, key=lambda row: (-row.firing_ns, row.rule))


def read_objectives(scope: Scope, from_ns: int, to_ns: int) -> list[SloRow]:
    """None where one of them can be counted only from runs that have gone."""
    try:
        results = read_slo_results(scope, from_ns, to_ns)
    except Incomplete:
        return []
    return [
        SloRow(name=r.slo.name, target=r.slo.target, share=r.share, total=r.total, is_met=r.is_met) for r in results
    ]
