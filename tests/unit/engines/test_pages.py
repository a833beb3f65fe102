"""A page becomes a layout and numbers: by engine and version, nothing twice, what is unknown left out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ingest.engines.differences import Sample
from ingest.engines.kinds import NAMES, Kind
from ingest.engines.layout import Key, layout_from_json
from ingest.engines.names import METRICS, Type
from ingest.engines.pages import BadPage, Reason, read_page
from tests.captures import DATA
from tests.unit.engines.recorded import SNAPSHOTS, scrapes

LABELS = 'engine="0",model_name="tiny"'


def value(page: str, metric: str, **key: str) -> float | None:
    reading = read_page(page.encode())
    wanted = Key(metric, **key)
    slots = [slot for slot in reading.layout.slots if slot.key == wanted]
    return reading.values[slots[0].at] if slots else None


def of_tiny(page: str, metric: str, part: str | None = None) -> float | None:
    key = {"model": "tiny", "engine": "0"} | ({"part": part} if part else {})
    return value(page, metric, **key)


def test_old_names_mean_the_same_as_new_ones() -> None:
    old = f"vllm:gpu_cache_usage_perc{{{LABELS}}} 0.25\nvllm:gpu_prefix_cache_hits_total{{{LABELS}}} 7\n"
    assert of_tiny(old, "kv_usage") == 0.25
    assert of_tiny(old, "prefix_hits") == 7


@pytest.mark.parametrize("new_first", [True, False])
def test_a_version_that_tells_both_names_counts_nothing_twice(new_first: bool) -> None:
    lines = [f"vllm:prefix_cache_hits_total{{{LABELS}}} 7\n", f"vllm:gpu_prefix_cache_hits_total{{{LABELS}}} 7\n"]
    assert of_tiny("".join(lines if new_first else reversed(lines)), "prefix_hits") == 7


def test_both_names_of_a_histogram_are_one() -> None:
    def histogram(name: str) -> str:
        return "".join(f"vllm:{name}{end} 3\n" for end in (f'_bucket{{{LABELS},le="+Inf"}}', f"_sum{{{LABELS}}}",
                                                            f"_count{{{LABELS}}}"))  # fmt: skip

    page = histogram("time_per_output_token_seconds") + histogram("inter_token_latency_seconds")
    reading = read_page(page.encode())
    assert [slot.key.metric for slot in reading.layout.slots] == ["itl"]
    assert list(reading.values) == [3, 3, 3]


def test_what_is_not_known_is_not_kept() -> None:
    page = f"vllm:num_requests_running{{{LABELS}}} 1\nvllm:brand_new_thing{{{LABELS}}} 9\npython_info 1\n"
    assert [slot.key.metric for slot in read_page(page.encode()).layout.slots] == ["running"]


def test_created_series_are_no_counts() -> None:
    page = f"vllm:prompt_tokens_total{{{LABELS}}} 5\nvllm:prompt_tokens_created{{{LABELS}}} 1.79e9\n"
    assert list(read_page(page.encode()).values) == [5]


def test_several_models_and_cores_stand_apart() -> None:
    page = "".join(
        f'vllm:num_requests_running{{engine="{core}",model_name="{model}"}} {n}\n'
        for n, (core, model) in enumerate((("0", "a"), ("1", "a"), ("0", "b")), 1)
    )
    assert value(page, "running", model="a", engine="1") == 2
    assert value(page, "running", model="b", engine="0") == 3


def test_processes_that_share_a_port_are_added_up_and_their_fullest_cache_counts() -> None:
    page = "".join(
        f'vllm:{name}{{{LABELS},pid="{pid}"}} {number}\n'
        for name, numbers in (("num_requests_running", (0, 3)), ("kv_cache_usage_perc", (0, 0.5)))
        for pid, number in enumerate(numbers, 100)
    )
    assert of_tiny(page, "running") == 3
    assert of_tiny(page, "kv_usage") == 0.5


def test_replicas_of_a_tensor_parallel_group_are_counted_once() -> None:
    page = "".join(f'sglang:num_running_reqs{{model_name="m",tp_rank="{rank}"}} 4\n' for rank in range(4))
    assert value(page, "running", model="m") == 4


def test_buckets_may_be_configured() -> None:
    page = "".join(f'vllm:time_to_first_token_seconds_bucket{{{LABELS},le="{le}"}} {n}\n'
                   for n, le in enumerate(("0.2", "7", "+Inf")))  # fmt: skip
    page += (
        f"vllm:time_to_first_token_seconds_sum{{{LABELS}}} 1\nvllm:time_to_first_token_seconds_count{{{LABELS}}} 2\n"
    )
    (slot,) = read_page(page.encode()).layout.slots
    assert slot.bounds == (0.2, 7.0, math.inf)


def test_times_in_other_units_become_seconds() -> None:
    name = "nv_inference_first_response_histogram_ms"
    page = f'{name}_bucket{{le="100"}} 1\n{name}_bucket{{le="+Inf"}} 2\n{name}_sum 250\n{name}_count 2\n'
    reading = read_page(page.encode())
    (slot,) = reading.layout.slots
    assert slot.bounds == (0.1, math.inf)
    assert list(reading.values) == [1, 2, 0.25, 2]


def test_what_a_series_says_in_a_label_is_its_value() -> None:
    page = f'vllm:cache_config_info{{{LABELS},block_size="128",num_gpu_blocks="47",cache_dtype="auto"}} 1\n'
    assert of_tiny(page, "block_size") == 128
    assert of_tiny(page, "kv_blocks") == 47


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("llamacpp:requests_deferred 1\n", "llama.cpp"),
        ('sglang:num_queue_reqs{model_name="m"} 1\n', "sglang"),
        ("tgi_queue_size 1\n", "tgi"),
        ('trtllm_num_requests_waiting{model_name="m"} 1\n', "tensorrt-llm"),
        ('nv_trt_llm_request_metrics{request_type="waiting",model="m"} 1\n', "triton"),
        ('dynamo_frontend_queued_requests{model="m"} 1\n', "dynamo"),
        ('inference_pool_average_queue_size{name="p"} 1\n', "llm-d"),
    ],
)
def test_the_kind_is_found_out_and_its_queue_is_known(page: str, kind: str) -> None:
    reading = read_page(page.encode())
    assert reading.layout.kind == kind
    assert [slot.key.metric for slot in reading.layout.slots] == ["waiting"]
    assert list(reading.values) == [1]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"", Reason.BROKEN_OFF),
        (b"\n", Reason.NO_KNOWN_METRICS),
        (b"vllm:num_requests_running 1", Reason.BROKEN_OFF),
        (b"<html>\n", Reason.NOT_METRICS),
        (b"go_goroutines 1\n", Reason.NO_KNOWN_METRICS),
        (b"vllm:num_requests_running 1\nvllm:num_requests_running 1\n", Reason.DUPLICATED_SERIES),
        (b"vllm:num_requests_running one\n", Reason.NOT_METRICS),
    ],
)
def test_a_bad_page_says_what_is_wrong_with_it(page: bytes, reason: Reason) -> None:
    with pytest.raises(BadPage) as refused:
        read_page(page)
    assert refused.value.reason is reason


@pytest.mark.parametrize("odd", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_number_is_not_known(odd: str) -> None:
    page = f"vllm:num_requests_running{{{LABELS}}} {odd}\nvllm:num_requests_waiting{{{LABELS}}} 2\n"
    reading = read_page(page.encode())
    told = Sample(at_unix_ns=0, layout=reading.layout, values=reading.values)
    assert {slot.key.metric: told.value(slot) for slot in told.layout.slots} == {"running": None, "waiting": 2}


def test_pages_with_time_stamps_are_read_too() -> None:
    assert of_tiny(f"vllm:num_requests_running{{{LABELS}}} 3 1795974363000\n", "running") == 3


def test_series_that_come_and_go_change_the_layout_and_no_number() -> None:
    first = f"vllm:num_requests_running{{{LABELS}}} 1\n"
    more = first + f"vllm:num_requests_waiting{{{LABELS}}} 2\n"
    readings = [read_page(page.encode(), target="coming and going") for page in (first, more, first, more)]
    assert [list(reading.values) for reading in readings] == [[1], [1, 2], [1], [1, 2]]
    assert readings[0].layout.digest == readings[2].layout.digest != readings[1].layout.digest


def test_a_layout_is_the_same_after_it_was_kept() -> None:
    for _, sample in scrapes("run3_tiny_ngram"):
        assert layout_from_json(sample.layout.as_json()) == sample.layout


def test_every_name_leads_to_a_metric_that_can_hold_it() -> None:
    for kind, named in NAMES.items():
        for entry in named:
            metric = METRICS[entry.metric]
            assert entry.part is None or metric.part, f"{kind}: {entry.name} has parts, {metric.name} none"
            assert not (entry.value_label and metric.type is not Type.GAUGE)


# Names of vLLM from 0.8.5 to 0.33.0 that a release has which nothing here reads, and why.
NOT_READ = {
    "vllm:lora_requests_info", "vllm:corrupted_requests", "vllm:watermark_requests", "vllm:mm_cache_queries",
    "vllm:mm_cache_hits", "vllm:request_max_num_generation_tokens", "vllm:request_params_n",
    "vllm:request_params_max_tokens", "vllm:prompt_tokens_cached", "vllm:prompt_tokens_recomputed",
    "vllm:prompt_tokens_cached_by_source", "vllm:num_requests_kv_fetch_by_stage",
    "vllm:estimated_flops_per_gpu", "vllm:estimated_read_bytes_per_gpu", "vllm:estimated_write_bytes_per_gpu",
}  # fmt: skip


def test_every_name_of_every_release_is_read_or_left_out_on_purpose() -> None:
    names = {entry.name for entry in NAMES[Kind.VLLM]}
    lines = (DATA / "engines" / "metric_versions.txt").read_text().splitlines()
    told = {
        line.split()[0] if "histogram" in line else line.split()[0].removesuffix("_total") for line in lines if line
    }
    assert told - names == NOT_READ


def test_a_page_is_read_fast_once_its_shape_is_known() -> None:
    page = Path(SNAPSHOTS / "run4_tiny_preempt-s4-final.prom").read_bytes()
    first, second = (read_page(page, target="fast") for _ in range(2))
    assert first.layout is second.layout
    assert first.values == second.values
