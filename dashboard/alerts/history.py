"""What has fired and how objectives were met, for pages, reports and programs."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from dashboard.alerts.core.burn import budget_left
from dashboard.alerts.core.rule import Slo
from dashboard.alerts.core.tally import Tally, good_of
from dashboard.alerts.core.words import amount_words, figure_words
from dashboard.alerts.models import Firing
from dashboard.alerts.models.rule import slos_of
from dashboard.alerts.readings import read_steps
from ingest.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringRow:
    """One time that an alert fired. ``resolved_unix_ns`` is None while it fires. ``condition`` is how the rule is
    written: above, below, rises, falls, absent or burns; ``value``, ``worst`` and ``limit`` are in the measure's unit
    (of burns: times too fast), their ``*_words`` as people read them. ``was_missed``: it was over before this instance,
    which was down, could tell anyone."""

    id: str
    rule_id: int | None
    rule: str
    title: str
    labels: dict[str, str]
    severity: str
    measure: str
    stat: str
    figure: str
    condition: str
    cause: str
    since_unix_ns: int
    fired_unix_ns: int
    resolved_unix_ns: int | None
    end: str | None
    value: float | None
    worst: float | None
    limit: float | None
    value_words: str
    worst_words: str
    limit_words: str
    samples: int
    window_s: int
    was_missed: bool
    acknowledged_by: str | None
    acknowledged_unix_ns: int | None

    @property
    def lasted_ns(self) -> int | None:
        """None while it fires."""
        return None if self.resolved_unix_ns is None else self.resolved_unix_ns - self.fired_unix_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class SloResult:
    """``good`` of ``total`` counted in the range; ``share`` and ``budget_left`` are None where nothing did.
    ``budget_left`` is what share of the range's error budget is left, below 0 where it is overspent."""

    slo: Slo
    from_unix_ns: int
    to_unix_ns: int
    total: int
    good: int
    share: float | None
    budget_left: float | None

    @property
    def is_met(self) -> bool | None:
        return None if self.share is None else self.share >= self.slo.target


def read_firings(scope: Scope, from_unix_ns: int, to_unix_ns: int, limit: int = 1_000) -> list[FiringRow]:
    """All that fired at any time in a range, the latest first; those of before that had not ended are among them."""
    found = Firing.objects.filter(project_id=scope.project_id, fired_unix_ns__lt=to_unix_ns).filter(
        Q(resolved_unix_ns=None) | Q(resolved_unix_ns__gt=from_unix_ns)
    )
    return [row_of(firing) for firing in found.order_by("-fired_unix_ns", "pk")[:limit]]


def read_firing_now(scope: Scope, limit: int = 100) -> list[FiringRow]:
    """What fires now: critical before the rest, not yet acknowledged before seen, the latest first."""
    found = [row_of(one) for one in Firing.objects.filter(project_id=scope.project_id, resolved_unix_ns=None)[:1_000]]
    order = ("critical", "warning", "info")
    found.sort(key=lambda row: (order.index(row.severity), row.acknowledged_by is not None, -row.fired_unix_ns))
    return found[:limit]


def read_slo_results(scope: Scope, from_unix_ns: int, to_unix_ns: int) -> list[SloResult]:
    """Each objective over a range, by its name. Raises BadFilter, Incomplete."""
    return [slo_result(scope, slo, from_unix_ns, to_unix_ns) for slo in slos_of(scope.project_id).values()]


def slo_result(scope: Scope, slo: Slo, from_unix_ns: int, to_unix_ns: int) -> SloResult:
    length = to_unix_ns - from_unix_ns
    steps = read_steps(scope, slo.what, slo.where, None, [to_unix_ns], [length], to_unix_ns)
    bad = Tally()
    for told in steps.values():
        for _, _, tally in told:
            bad.add(good_of(tally, slo.limit_ns))
    return SloResult(
        slo=slo, from_unix_ns=from_unix_ns, to_unix_ns=to_unix_ns, total=bad.whole, good=bad.whole - bad.part,
        share=1 - bad.part / bad.whole if bad.whole else None, budget_left=budget_left(bad, slo.target),
    )  # fmt: skip


def row_of(firing: Firing) -> FiringRow:
    def words(value: float | None) -> str:
        if firing.condition == "burns" and value is not None:
            return f"{value:.1f} times"
        return amount_words(value, firing.measure, firing.stat)

    return FiringRow(
        id=str(firing.pk), rule_id=firing.rule_id, rule=firing.rule_name, title=firing.title, labels=firing.labels,
        severity=firing.severity, measure=firing.measure, stat=firing.stat,
        figure=figure_words(firing.measure, firing.stat), condition=firing.condition, cause=firing.cause,
        since_unix_ns=firing.since_unix_ns, fired_unix_ns=firing.fired_unix_ns,
        resolved_unix_ns=firing.resolved_unix_ns, end=firing.end or None,
        value=firing.value, worst=firing.worst, limit=firing.limit, value_words=words(firing.value),
        worst_words=words(firing.worst), limit_words=words(firing.limit), samples=firing.samples,
        window_s=firing.window_s, was_missed=firing.was_missed, acknowledged_by=firing.acknowledged_by or None,
        acknowledged_unix_ns=firing.acknowledged_unix_ns,
    )  # fmt: skip
