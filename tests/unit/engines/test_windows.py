"""Figures between any two pages of real servers, against the same sums done by hand from the pages."""

from __future__ import annotations

from array import array
from itertools import pairwise

import pytest

from ingest.engines.differences import Buckets, Sample, difference
from ingest.engines.figures import figures, gauge, spread
from ingest.engines.layout import Key, make_layout
from ingest.engines.windows import Window, aborted, hit_rate, quantile, speculation, window, window_of
from tests.unit.engines.recorded import RUNS, by_hand, joined_scrapes, pairs, scrapes, told

TIMES = {
    "ttft": "time_to_first_token_seconds", "itl": "inter_token_latency_seconds", "e2e": "e2e_request_latency_seconds",
    "tpot": "request_time_per_output_token_seconds", "queue": "request_queue_time_seconds",
    "prefill": "request_prefill_time_seconds", "decode": "request_decode_time_seconds",
    "inference": "request_inference_time_seconds", "prompt_length": "request_prompt_tokens",
    "generation_length": "request_generation_tokens", "step_tokens": "iteration_tokens_total",
}  # fmt: skip
COUNTS = {
    "prompt_tokens": "prompt_tokens_total", "generation_tokens": "generation_tokens_total",
    "prefix_hits": "prefix_cache_hits_total", "prefix_queries": "prefix_cache_queries_total",
    "preemptions": "num_preemptions_total", "finished": "request_success_total",
}  # fmt: skip
NEAR = {"rel": 1e-9, "abs": 1e-6}


def grown(before: str, after: str, name: str) -> float:
    return told(after, f"vllm:{name}") - told(before, f"vllm:{name}")


def whole(run: str) -> Window:
    """From a run's first page to its last."""
    return window([difference(scrapes(run)[0][1], scrapes(run)[-1][1])])


@pytest.mark.parametrize("run", RUNS)
def test_counts_means_and_hit_rates_of_every_pair_are_those_of_the_pages(run: str) -> None:
    for name, before, other, after in pairs(run):
        made = window([difference(before, after)])
        for metric, page_name in COUNTS.items():
            assert made.total(metric) == pytest.approx(grown(name, other, page_name), **NEAR), metric
        for metric, page_name in TIMES.items():
            buckets = made.histogram(metric)
            assert buckets is not None
            assert buckets.count == grown(name, other, page_name + "_count")
            assert buckets.sum == pytest.approx(grown(name, other, page_name + "_sum"), **NEAR)
        queries = grown(name, other, "prefix_cache_queries_total")
        expected = grown(name, other, "prefix_cache_hits_total") / queries if queries else None
        assert hit_rate(made) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("run", RUNS)
def test_quantiles_of_every_pair_lie_in_the_right_bucket(run: str) -> None:
    for name, before, other, after in pairs(run):
        made = window([difference(before, after)])
        for metric in ("ttft", "itl", "queue", "prefill", "decode"):
            counts = bucket_counts(name, other, TIMES[metric])
            for share in (0.5, 0.9, 0.95, 0.99):
                found = quantile(made.histogram(metric), share)
                if not counts[-1][1]:
                    assert found is None
                    continue
                assert found is not None
                rank = share * counts[-1][1]
                at = next(i for i, (_, count) in enumerate(counts) if count >= rank)
                assert found.high == (counts[at][0] if counts[at][0] != float("inf") else None)
                assert found.low == (counts[at - 1][0] if at else 0)
                assert found.low <= found.value <= (found.high or found.value)


def bucket_counts(before: str, after: str, name: str) -> list[tuple[float, float]]:
    bounds = [labels["le"] for labels, _ in by_hand(after)[f"vllm:{name}_bucket"]]
    return [
        (float(le), sum(sign * told(page, f"vllm:{name}_bucket", lambda labels, le=le: labels["le"] == le)
                        for sign, page in ((1, after), (-1, before))))
        for le in bounds
    ]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_what_the_engine_tells_twice_is_the_same(run: str) -> None:
    made = whole(run)
    sources = made.by_part("prompt_tokens_by_source")
    assert made.total("prompt_tokens") == made.total("prefix_queries") == sum(sources.values())
    assert made.total("prefix_hits") == sources["local_cache_hit"]
    spent = {name: buckets for name in TIMES if (buckets := made.histogram(name))}
    assert spent["inference"].sum == pytest.approx(spent["prefill"].sum + spent["decode"].sum, **NEAR)
    assert {spent[name].count for name in ("e2e", "queue", "prefill", "decode", "inference")} == {spent["e2e"].count}
    assert made.total("finished") == spent["e2e"].count


@pytest.mark.parametrize("run", RUNS)
def test_the_one_request_that_its_client_left_is_counted(run: str) -> None:
    """Nothing ran at either end, so the number is exact."""
    assert aborted(whole(run), (0.0, 0.0)) == (1, 1)


@pytest.mark.parametrize("run", RUNS)
def test_between_busy_pages_it_is_between_bounds(run: str) -> None:
    for _, before, _, after in pairs(run):
        bounds = aborted(window([difference(before, after)]), (gauge(before, "running"), gauge(after, "running")))
        assert bounds is not None
        assert bounds[0] <= 1
        assert bounds[0] <= bounds[1]


def test_speculation_is_by_position_and_its_length_counts_the_sure_token() -> None:
    found = speculation(whole("run3_tiny_ngram"))
    assert found is not None
    assert (found.drafts, found.draft_tokens, found.accepted) == (365, 805, 608)
    assert found.acceptance == 608 / 805
    assert found.accepted_length == 1 + 608 / 365
    assert {at: round(share * 365) for at, share in found.by_position.items()} == {
        "0": 304,
        "1": 125,
        "2": 113,
        "3": 66,
    }


def test_without_speculation_nothing_is_said_of_it() -> None:
    assert speculation(whole("run1_tiny_http")) is None


def test_four_preemptions_and_a_full_cache_are_seen() -> None:
    assert whole("run4_tiny_preempt").total("preemptions") == 4
    fullest = max((gauge(sample, "kv_usage") or 0, gauge(sample, "waiting") or 0)
                  for _, sample in scrapes("run4_tiny_preempt"))  # fmt: skip
    assert fullest[0] == pytest.approx(0.96, abs=0.005)
    assert max(gauge(sample, "waiting") or 0 for _, sample in scrapes("run4_tiny_preempt")) == 4


@pytest.mark.parametrize("run", RUNS)
def test_steps_add_up_to_the_whole(run: str) -> None:
    samples = [sample for _, sample in scrapes(run)]
    steps, made = window_of(samples, 10**18), whole(run)
    assert steps.seconds == pytest.approx(made.seconds)
    for key, value in made.counts.items():
        assert steps.counts[key] == pytest.approx(value, **NEAR)
    for key, buckets in made.histograms.items():
        assert steps.histograms[key].counts == buckets.counts
        assert steps.histograms[key].sum == pytest.approx(buckets.sum, **NEAR)


def test_a_real_restart_loses_no_request_and_counts_none_twice() -> None:
    """The server died while it served and was started again; what it counted since is what is new."""
    samples = joined_scrapes()
    ((name, before), (other, after)) = next(((a, b) for a, b in pairwise(samples) if difference(a[1], b[1]).reset))
    assert (name, other) == ("0022.prom", "0074.prom")
    made = difference(before, after)
    since_start = told(other, "vllm:generation_tokens_total")
    assert window([made]).total("generation_tokens") == since_start
    assert made.seconds == pytest.approx(after.at_unix_ns / 1e9 - told(other, "process_start_time_seconds"))


def sample(at_s: int, **numbers: float) -> Sample:
    layout = make_layout("vllm", [(Key(name), ()) for name in numbers])
    values = array("d", [numbers[slot.key.metric] for slot in layout.slots])
    return Sample(at_unix_ns=at_s * 10**9, layout=layout, values=values)


def test_without_a_start_time_a_restart_is_seen_by_falling_counters() -> None:
    before = sample(0, prompt_tokens=1000, generation_tokens=500, preemptions=0)
    after = sample(5, prompt_tokens=20, generation_tokens=10, preemptions=0)
    made = difference(before, after)
    assert made.reset
    assert {key.metric: value for key, value in made.counts.items()} == {
        "prompt_tokens": 20, "generation_tokens": 10, "preemptions": 0,
    }  # fmt: skip


def test_a_single_counter_that_falls_says_nothing_of_itself_and_spoils_no_other() -> None:
    before = sample(0, prompt_tokens=1000, generation_tokens=500, spec_drafts=9)
    after = sample(5, prompt_tokens=1100, generation_tokens=520, spec_drafts=3)
    made = difference(before, after)
    assert not made.reset
    assert {key.metric: value for key, value in made.counts.items()} == {"prompt_tokens": 100, "generation_tokens": 20}


def test_a_gap_is_no_time_of_any_rate() -> None:
    samples = [sample(at, generation_tokens=tokens) for at, tokens in ((0, 0), (5, 50), (3600, 90_000), (3605, 90_050))]
    made = window_of(samples, 60 * 10**9)
    assert made.a_second("generation_tokens") == 10
    assert made.seconds == 10


def test_above_the_last_bucket_there_is_no_upper_end() -> None:
    found = quantile(Buckets(bounds=(1.0, float("inf")), counts=(1.0, 10.0), sum=99.0, count=10.0), 0.5)
    assert found is not None
    assert (found.value, found.low, found.high) == (1.0, 1.0, None)


def test_cores_of_a_data_parallel_server_stand_apart_and_add_up() -> None:
    keys = [
        (Key(name, "m", core), ()) for name in ("running", "kv_usage", "generation_tokens") for core in ("0", "1", "10")
    ]
    layout = make_layout("vllm", keys)
    of = {("running", "0"): 1, ("running", "1"): 3, ("kv_usage", "0"): 0.2, ("kv_usage", "1"): 0.9}

    def at(seconds: int, tokens: float) -> Sample:
        values = array("d", [of.get((slot.key.metric, slot.key.engine or ""), 0.0) for slot in layout.slots])
        for slot in layout.slots_of("generation_tokens"):
            values[slot.at] = tokens
        return Sample(at_unix_ns=seconds * 10**9, layout=layout, values=values)

    made = figures(window([difference(at(0, 10), at(5, 20))]), at(5, 20))
    assert (made.running, made.kv_usage, made.generation_tokens) == (4, 0.9, 30)
    assert [(core.engine, core.running, core.kv_usage) for core in made.cores] == [
        ("0", 1, 0.2), ("1", 3, 0.9), ("10", 0, 0),
    ]  # fmt: skip


def test_unknown_is_none_and_never_nought() -> None:
    made = figures(window([difference(sample(0, running=1), sample(5, running=1))]), sample(5, running=1))
    assert made.running == 1
    assert made.waiting is made.kv_usage is made.hit_rate is made.finished is made.preemptions is None
    assert made.generation_tokens_per_s is made.speculation is made.aborted is None
    assert made.spreads == {}


def test_quantiles_of_a_wide_bucket_are_held_to_what_the_mean_allows() -> None:
    """60 requests of a real vLLM that waited for 0.2 ms each, in a bucket from 0 to 0.3 s."""
    bounds = (0.3, 0.5, float("inf"))
    made = spread(Buckets(bounds=bounds, counts=(60.0, 60.0, 60.0), sum=0.012, count=60.0), "queue")
    assert made
    assert made.p50
    assert (made.p50.low, made.p50.high) == (0, pytest.approx(0.4e6))
    assert made.p50.value == pytest.approx(0.2e6)
    assert made.p95
    assert made.p95.value == pytest.approx(0.95 * 4e6)

    uneven = spread(Buckets(bounds=bounds, counts=(50.0, 60.0, 60.0), sum=5.0, count=60.0), "queue")
    assert uneven
    assert uneven.p95
    assert (uneven.p95.low, uneven.p95.high) == (0.3e9, 0.5e9), "the mean allows more than the bucket"
