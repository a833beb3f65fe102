"""What estimates rest on where too few calls were measured: how fast the call's engine wrote around it, by its own
histograms. Only where one engine alone serves the model, and its samples cover the moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar

from ingest.engines.kinds import Kind
from ingest.engines.windows import quantile
from ingest.models import EngineTarget
from ingest.read.engine_samples import NS, steps
from ingest.scope import Scope
from ingest.stages.estimate import Basis, BasisKey

WINDOW_NS = 300 * NS
LATE_NS = 15 * NS  # the sample after a call may not have come yet when it is decomposed
MOST_LOOKS = 50  # a pass reads no more; what is left stays unsplit


class Question(Protocol):
    """As ``ingest.basis.Question``."""

    @property
    def project_id(self) -> int: ...
    @property
    def key(self) -> BasisKey: ...
    @property
    def until_ns(self) -> int: ...


Q = TypeVar("Q", bound=Question)


def engine_bases(asked: Iterable[Q]) -> dict[Q, Basis]:
    """The basis of each question whose engine tells one."""
    found: dict[Q, Basis] = {}
    looked: dict[tuple[int, str, int], Basis | None] = {}
    serving: dict[int, dict[str, list[EngineTarget]]] = {}
    for question in asked:
        project_id, model, until_ns = question.project_id, question.key.model, question.until_ns
        if project_id not in serving:
            serving[project_id] = _serving(project_id)
        targets = _fitting(serving[project_id].get(model, []), question.key.engine)
        if len(targets) != 1:
            continue
        place = (targets[0].pk, model, until_ns)
        if place not in looked and len(looked) < MOST_LOOKS:
            looked[place] = _basis(targets[0], model, until_ns)
        if (basis := looked.get(place)) is not None:
            found[question] = basis
    return found


def _serving(project_id: int) -> dict[str, list[EngineTarget]]:
    found: dict[str, list[EngineTarget]] = defaultdict(list)
    for target in EngineTarget.objects.filter(project_id=project_id, sample_unix_ns__isnull=False):
        if target.seen_kind != Kind.GEN_AI:
            for model in target.seen_models:
                found[model].append(target)
    return found


def _fitting(targets: list[EngineTarget], engine: str | None) -> list[EngineTarget]:
    named = [target for target in targets if target.name == engine]
    return named or targets


def _basis(target: EngineTarget, model: str, until_ns: int) -> Basis | None:
    """Mean time per output token of the requests that ended in the window, and the quartiles about it; those are
    interpolated within the histogram's buckets."""
    found = steps(
        Scope(project_id=target.project_id), {target.pk: target.interval_ms}, until_ns - WINDOW_NS, until_ns + LATE_NS,
        WINDOW_NS + LATE_NS, ("tpot", "itl"),
    )[target.pk].get(0)  # fmt: skip
    if found is None or found.last is None:
        return None
    if found.last.at_unix_ns < until_ns - LATE_NS - 2 * target.interval_ms * 10**6:
        return None
    told = found.window
    buckets = told.histogram("tpot", model) or told.histogram("itl", model)
    low, high = quantile(buckets, 0.25), quantile(buckets, 0.75)
    if buckets is None or buckets.mean is None or low is None or high is None or high.high is None:
        return None
    return Basis(
        tpot_ns=round(buckets.mean * NS), low_ns=round(low.value * NS), high_ns=round(high.value * NS),
        calls=round(buckets.count),
    )  # fmt: skip
