"""Samples: a flat map from a name with its labels to a number, which can be added, subtracted and kept as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry

Samples = Mapping[str, float]
_BUCKET = '_bucket",'
INFINITE = float("inf")


def key(name: str, labels: Mapping[str, str]) -> str:
    return json.dumps([name, labels], ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def parsed(sample_key: str) -> tuple[str, dict[str, str]]:
    name, labels = json.loads(sample_key)
    return name, labels


def taken(registry: CollectorRegistry) -> dict[str, float]:
    """What a registry holds now, without counters that are still 0. Of a histogram all buckets are needed."""
    return {
        key(sample.name, sample.labels): sample.value
        for family in registry.collect()
        for sample in family.samples
        if (sample.value or sample.name.endswith("_bucket")) and not sample.name.endswith("_created")
    }


def added(several: Iterable[Samples]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for samples in several:
        for sample_key, value in samples.items():
            total[sample_key] += value  # type: ignore[assignment]
    return dict(total)


def grown(now: Samples, before: Samples) -> dict[str, float]:
    """How much each has grown since ``before``, without counters that have not."""
    differences = ((sample_key, value - before.get(sample_key, 0)) for sample_key, value in now.items())
    return {sample_key: difference for sample_key, difference in differences if difference > 0 or _BUCKET in sample_key}


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum of all samples of that name that have these labels."""
    found = 0.0
    for sample_key, value in samples.items():
        if sample_key.startswith(f'["{name}",'):
            _, its = parsed(sample_key)
            if all(its.get(label) == wanted for label, wanted in labels.items()):
                found += value
    return found


def by_label(samples: Samples, name: str, label: str) -> dict[str, float]:
    """The sums of a sample by one of its labels, largest first."""
    found: Counter[str] = Counter()
    for sample_key, value in samples.items():
        if sample_key.startswith(f'["{name}",'):
            found[parsed(sample_key)[1].get(label, "")] += value  # type: ignore[assignment]
    return dict(found.most_common())


def quantile(samples: Samples, name: str, q: float) -> float | None:
    """A quantile of a histogram by linear interpolation within its bucket, as PromQL does; None without values.

    A value beyond the last bound is told as that bound, so it is then "at least".
    """
    bounds = {float(le): value for le, value in by_label(samples, f"{name}_bucket", "le").items()}
    count = max(bounds.values(), default=0.0)
    if not count:
        return None
    rank, lower, below = q * count, 0.0, 0.0
    for bound in sorted(bounds):
        if bounds[bound] >= rank:
            if bound == INFINITE:
                return lower
            inside = bounds[bound] - below
            return lower + (bound - lower) * ((rank - below) / inside if inside else 1.0)
        lower, below = bound, bounds[bound]
    return lower
