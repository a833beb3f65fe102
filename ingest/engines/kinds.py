"""Which name on which engine's page means what: from published packages, and of vLLM from real servers.

Of several names for one thing the first that a page has is taken, so that a version that exposes the old and the new
one counts nothing twice. Names are without ``_total``. What is not here is not kept.
"""

from __future__ import annotations

from enum import StrEnum

from ingest.frozen import Frozen


class Kind(StrEnum):
    AUTO = "auto"
    VLLM = "vllm"
    SGLANG = "sglang"
    TGI = "tgi"
    LLAMA_CPP = "llama.cpp"
    TRITON = "triton"
    TENSORRT_LLM = "tensorrt-llm"
    DYNAMO = "dynamo"
    LLM_D = "llm-d"
    GEN_AI = "gen_ai"


LABELS = {
    Kind.AUTO: "find out", Kind.VLLM: "vLLM", Kind.SGLANG: "SGLang", Kind.TGI: "TGI", Kind.LLAMA_CPP: "llama.cpp",
    Kind.TRITON: "Triton", Kind.TENSORRT_LLM: "TensorRT-LLM", Kind.DYNAMO: "Dynamo", Kind.LLM_D: "llm-d",
    Kind.GEN_AI: "GenAI metrics",
}  # fmt: skip
# The others' names are read from their sources and were never seen on a live page.
TESTED = frozenset({Kind.VLLM, Kind.GEN_AI})


class Named(Frozen, frozen=True, kw_only=True):
    """A name on a page. ``part`` is the label that tells parts apart, ``where`` what other labels must say,
    ``value_label`` a label that holds the value (of an ``_info`` series), ``scale`` makes its unit ours."""

    name: str
    metric: str
    part: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    value_label: str | None = None
    scale: float = 1.0


def _same(prefix: str, *pairs: tuple[str, str]) -> list[Named]:
    return [Named(name=prefix + name, metric=metric) for name, metric in pairs]


_VLLM = [
    *_same(
        "vllm:",
        ("num_requests_running", "running"), ("num_requests_waiting", "waiting"),
        ("kv_cache_usage_perc", "kv_usage"), ("gpu_cache_usage_perc", "kv_usage"),
        ("num_preemptions", "preemptions"), ("num_requests_swapped", "preempted"),
        ("prefix_cache_queries", "prefix_queries"), ("gpu_prefix_cache_queries", "prefix_queries"),
        ("prefix_cache_hits", "prefix_hits"), ("gpu_prefix_cache_hits", "prefix_hits"),
        ("gpu_prefix_cache_hit_rate", "hit_rate_told"),
        ("external_prefix_cache_queries", "external_queries"), ("external_prefix_cache_hits", "external_hits"),
        ("prompt_tokens", "prompt_tokens"), ("generation_tokens", "generation_tokens"),
        ("spec_decode_num_drafts", "spec_drafts"), ("spec_decode_num_draft_tokens", "spec_draft_tokens"),
        ("spec_decode_num_accepted_tokens", "spec_accepted"),
        ("spec_decode_draft_acceptance_rate", "accept_rate_told"),
        ("time_to_first_token_seconds", "ttft"),
        ("inter_token_latency_seconds", "itl"), ("time_per_output_token_seconds", "itl"),
        ("request_time_per_output_token_seconds", "tpot"), ("e2e_request_latency_seconds", "e2e"),
        ("request_queue_time_seconds", "queue"), ("time_in_queue_requests", "queue"),
        ("request_prefill_time_seconds", "prefill"), ("request_decode_time_seconds", "decode"),
        ("request_inference_time_seconds", "inference"), ("request_prompt_tokens", "prompt_length"),
        ("request_generation_tokens", "generation_length"),
        ("request_prefill_kv_computed_tokens", "computed_length"),
        ("iteration_tokens_total", "step_tokens"), ("request_num_preemptions", "request_preemptions"),
        ("kv_block_lifetime_seconds", "block_lifetime"), ("kv_block_idle_before_evict_seconds", "block_idle"),
        ("kv_block_reuse_gap_seconds", "block_reuse_gap"),
    ),
    Named(name="vllm:num_requests_waiting_by_reason", metric="waiting_by_reason", part="reason"),
    Named(name="vllm:request_success", metric="finished", part="finished_reason"),
    Named(name="vllm:admission_rejections", metric="rejected", part="reason"),
    Named(name="vllm:prompt_tokens_by_source", metric="prompt_tokens_by_source", part="source"),
    Named(name="vllm:spec_decode_num_accepted_tokens_per_pos", metric="spec_accepted_at", part="position"),
    Named(name="vllm:engine_sleep_state", metric="asleep", where=(("sleep_state", "weights_offloaded"),)),
    Named(name="vllm:engine_sleep_state", metric="asleep", where=(("sleep_state", "discard_all"),)),
    Named(name="vllm:cache_config_info", metric="block_size", value_label="block_size"),
    Named(name="vllm:cache_config_info", metric="kv_blocks", value_label="num_gpu_blocks"),
    Named(name="vllm:cache_config_info", metric="kv_tokens", value_label="kv_cache_size_tokens"),
    Named(name="http_requests", metric="http_requests", part="status"),
]  # fmt: skip
_SGLANG = [
    *_same(
        "sglang:",
        ("num_running_reqs", "running"), ("num_queue_reqs", "waiting"), ("num_retracted_reqs", "preempted"),
        ("token_usage", "kv_usage"), ("cache_hit_rate", "hit_rate_told"),
        ("prompt_tokens", "prompt_tokens"), ("generation_tokens", "generation_tokens"),
        ("num_aborted_requests", "failed"),
        ("spec_accept_length", "accept_length_told"), ("spec_accept_rate", "accept_rate_told"),
        ("max_total_num_tokens", "kv_tokens"), ("page_size", "block_size"), ("num_pages", "kv_blocks"),
        ("time_to_first_token_seconds", "ttft"),
        ("inter_token_latency_seconds", "itl"), ("time_per_output_token_seconds", "itl"),
        ("request_time_per_output_token_seconds", "tpot"), ("e2e_request_latency_seconds", "e2e"),
        ("queue_time_seconds", "queue"),
    ),
    Named(name="sglang:num_requests", metric="finished"),
    # Every prompt token is looked up: what was asked of the cache is what came in.
    Named(name="sglang:cached_tokens", metric="prefix_hits"),
    Named(name="sglang:prompt_tokens", metric="prefix_queries"),
]  # fmt: skip
_TGI = [
    *_same(
        "tgi_",
        ("batch_current_size", "running"), ("queue_size", "waiting"),
        ("request_duration", "e2e"), ("request_queue_duration", "queue"),
        ("request_mean_time_per_token_duration", "tpot"), ("request_input_length", "prompt_length"),
        ("request_generated_tokens", "generation_length"), ("request_success", "finished"),
        ("batch_current_max_tokens", "kv_tokens"),
    ),
]  # fmt: skip
_LLAMA_CPP = [
    *_same(
        "llamacpp:",
        ("requests_processing", "running"), ("requests_deferred", "waiting"), ("kv_cache_usage_ratio", "kv_usage"),
        ("prompt_tokens", "prompt_tokens"), ("tokens_predicted", "generation_tokens"),
        ("prompt_seconds", "prefill_seconds"), ("tokens_predicted_seconds", "decode_seconds"),
        ("spec_decode_num_drafts", "spec_drafts"), ("spec_decode_num_draft_tokens", "spec_draft_tokens"),
        ("spec_decode_num_accepted_tokens", "spec_accepted"),
    ),
    Named(
        name="llamacpp:spec_decode_num_accepted_tokens_per_pos", metric="spec_accepted_at", part="position"
    ),
]  # fmt: skip
_TENSORRT_LLM = [
    *_same(
        "trtllm_",
        ("num_requests_running", "running"), ("num_requests_waiting", "waiting"), ("num_paused_requests", "preempted"),
        ("kv_cache_utilization", "kv_usage"), ("kv_cache_hit_rate", "hit_rate_told"),
        ("kv_cache_reused_blocks", "prefix_hits"), ("kv_cache_missed_blocks", "prefix_misses"),
        ("prompt_tokens", "prompt_tokens"), ("generation_tokens", "generation_tokens"),
        ("time_to_first_token_seconds", "ttft"), ("time_per_output_token_seconds", "tpot"),
        ("e2e_request_latency_seconds", "e2e"), ("request_queue_time_seconds", "queue"),
        ("request_error", "failed"), ("spec_decode_num_drafts", "spec_drafts"),
        ("spec_decode_num_draft_tokens", "spec_draft_tokens"), ("spec_decode_num_accepted_tokens", "spec_accepted"),
        ("spec_decode_acceptance_length", "accept_length_told"), ("kv_cache_max_blocks", "kv_blocks"),
        ("kv_cache_tokens_per_block", "block_size"),
    ),
    Named(name="trtllm_request_success", metric="finished", part="finished_reason"),
]  # fmt: skip
_BLOCKS = "nv_trt_llm_kv_cache_block_metrics"
_TRITON = [
    Named(name="nv_trt_llm_request_metrics", metric="running", where=(("request_type", "scheduled"),)),
    Named(name="nv_trt_llm_request_metrics", metric="waiting", where=(("request_type", "waiting"),)),
    Named(name=_BLOCKS, metric="kv_usage", where=(("kv_cache_block_type", "fraction"),)),
    Named(name=_BLOCKS, metric="kv_blocks", where=(("kv_cache_block_type", "max"),)),
    Named(name=_BLOCKS, metric="block_size", where=(("kv_cache_block_type", "tokens_per"),)),
    Named(name="nv_llm_input_token_len", metric="prompt_length"),
    Named(name="nv_llm_output_token_len", metric="generation_length"),
    Named(name="nv_inference_first_response_histogram_ms", metric="ttft", scale=1e-3),
    Named(name="nv_inference_request_success", metric="finished"),
    Named(name="nv_inference_request_failure", metric="failed"),
]
_DYNAMO = [
    *_same(
        "dynamo_frontend_",
        ("inflight_requests", "running"), ("queued_requests", "waiting"),
        ("time_to_first_token_seconds", "ttft"), ("inter_token_latency_seconds", "itl"),
        ("request_duration_seconds", "e2e"), ("input_sequence_tokens", "prompt_length"),
        ("output_tokens", "generation_tokens"), ("model_migration", "preemptions"),
        ("model_total_kv_blocks", "kv_blocks"), ("kv_hit_rate", "hit_rate_told"),
    ),
    Named(name="dynamo_frontend_requests", metric="finished", part="status"),
    Named(name="dynamo_component_kvstats_gpu_cache_usage_percent", metric="kv_usage"),
    Named(name="dynamo_component_gpu_cache_usage_percent", metric="kv_usage"),
]  # fmt: skip
_LLM_D = [
    *_same(
        "inference_pool_",
        ("average_running_requests", "running"), ("average_queue_size", "waiting"),
        ("average_kv_cache_utilization", "kv_usage"),
    ),
    *_same(
        "inference_extension_",
        ("request_ttft_duration_seconds", "ttft"), ("request_duration_seconds", "e2e"),
        ("input_tokens", "prompt_length"), ("output_tokens", "generation_length"),
        ("prefix_indexer_hit_ratio", "hit_rate_told"),
    ),
]  # fmt: skip
_TOKENS = "gen_ai.client.token.usage"
_GEN_AI = [
    Named(name="gen_ai.server.time_to_first_token", metric="ttft"),
    Named(name="gen_ai.server.time_per_output_token", metric="tpot"),
    Named(name="gen_ai.server.request.duration", metric="e2e"),
    Named(name="gen_ai.client.operation.duration", metric="client_duration"),
    Named(name="gen_ai.client.inference.duration", metric="client_duration"),
    Named(name="gen_ai.client.operation.time_to_first_chunk", metric="client_first_chunk"),
    Named(name="gen_ai.client.inference.time_to_first_chunk", metric="client_first_chunk"),
    Named(name="gen_ai.client.operation.time_per_output_chunk", metric="client_chunk_gap"),
    Named(name="gen_ai.client.inference.time_per_output_chunk", metric="client_chunk_gap"),
    Named(name=_TOKENS, metric="client_input_tokens", where=(("gen_ai.token.type", "input"),)),
    Named(name=_TOKENS, metric="client_output_tokens", where=(("gen_ai.token.type", "output"),)),
    Named(name=_TOKENS, metric="client_output_tokens", where=(("gen_ai.token.type", "completion"),)),
    Named(name="gen_ai.client.inference.operation.input_tokens", metric="client_input_tokens"),
    Named(name="gen_ai.client.inference.operation.output_tokens", metric="client_output_tokens"),
]
_EVERY = [Named(name="process_start_time_seconds", metric="process_start")]

NAMES: dict[Kind, list[Named]] = {
    kind: [*named, *_EVERY]
    for kind, named in (
        (Kind.VLLM, _VLLM), (Kind.SGLANG, _SGLANG), (Kind.TGI, _TGI), (Kind.LLAMA_CPP, _LLAMA_CPP),
        (Kind.TENSORRT_LLM, _TENSORRT_LLM), (Kind.TRITON, _TRITON), (Kind.DYNAMO, _DYNAMO), (Kind.LLM_D, _LLM_D),
        (Kind.GEN_AI, _GEN_AI),
    )
}  # fmt: skip
# By how names begin; the first that matches any of a page's. A picker's or front end's page may name engines' too.
MARKS: tuple[tuple[str, Kind], ...] = (
    ("vllm:", Kind.VLLM), ("sglang:", Kind.SGLANG), ("llamacpp:", Kind.LLAMA_CPP), ("tgi_", Kind.TGI),
    ("trtllm_", Kind.TENSORRT_LLM), ("nv_trt_llm_", Kind.TRITON), ("nv_inference_", Kind.TRITON),
    ("dynamo_", Kind.DYNAMO), ("inference_pool_", Kind.LLM_D), ("inference_extension_", Kind.LLM_D),
    ("gen_ai.", Kind.GEN_AI),
)  # fmt: skip


def kind_of(names: set[str]) -> Kind | None:
    """What kind of engine publishes these names; None where nobody known does."""
    return next((kind for mark, kind in MARKS if any(name.startswith(mark) for name in names)), None)
