"""Counts of several processes: added, subtracted, and a quantile read from their buckets."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram

from ingest.observing.samples import added, by_label, grown, quantile, taken, total


def lag(*seconds: float) -> dict[str, float]:
    registry = CollectorRegistry()
    histogram = Histogram("lag_seconds", "", buckets=(0.1, 0.2, 1), registry=registry)
    for value in seconds:
        histogram.observe(value)
    return taken(registry)


def test_two_processes_are_one_sum() -> None:
    registry = CollectorRegistry()
    refused = Counter("refused", "", ["reason", "key"], registry=registry)
    refused.labels("no_key", "").inc(2)
    refused.labels("bad_data", "sxi_a").inc(3)
    refused.labels("bad_data", "sxi_b").inc()
    both = added([taken(registry), taken(registry)])
    assert total(both, "refused_total") == 12
    assert total(both, "refused_total", reason="bad_data") == 8
    assert by_label(both, "refused_total", "reason") == {"bad_data": 8, "no_key": 4}


def test_what_has_not_grown_is_not_told() -> None:
    assert grown({"a": 3, "b": 2}, {"a": 1, "b": 2}) == {"a": 2}


def test_a_quantile_lies_within_its_bucket() -> None:
    told = added([lag(*[0.15] * 90), lag(*[0.5] * 10)])
    assert quantile(told, "lag_seconds", 0.5) == pytest.approx(0.1 + 0.1 * 50 / 90)
    assert 0.2 < (quantile(told, "lag_seconds", 0.95) or 0) <= 1


def test_a_quantile_of_nothing_is_unknown() -> None:
    assert quantile({}, "lag_seconds", 0.95) is None


def test_a_quantile_beyond_the_last_bound_is_told_as_that_bound() -> None:
    assert quantile(lag(50, 60), "lag_seconds", 0.5) == 1
