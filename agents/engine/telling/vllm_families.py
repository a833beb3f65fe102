"""Names, texts, labels and buckets of vLLM 0.32's families, as scraped from a real server."""

from __future__ import annotations

from dataclasses import dataclass

from agents.engine.core import KvMemory
from agents.engine.core.profiles import CONTEXT, KV_GB_PER_CONTEXT


@dataclass(frozen=True)
class Row:
    name: str
    help: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    no_engine: bool = False


_FLOPS = "(for Model Flops Utilization calculations)"
_SOURCES = ("local_compute", "local_cache_hit", "external_kv_transfer")
_TIERS = ("device", "host", "p2p", "disk", "external_unspecified")
_REASONS = ("stop", "length", "abort", "error", "repetition")
_QUERIES, _HITS = "in terms of number of queried", "in terms of number of cached"

COUNTERS = (
    Row("estimated_flops_per_gpu", f"Estimated number of floating point operations per GPU {_FLOPS}."),
    Row("estimated_read_bytes_per_gpu", f"Estimated number of bytes read from memory per GPU {_FLOPS}."),
    Row("estimated_write_bytes_per_gpu", f"Estimated number of bytes written to memory per GPU {_FLOPS}."),
    Row("prefix_cache_queries", f"Prefix cache queries, {_QUERIES} tokens."),
    Row("prefix_cache_hits", f"Prefix cache hits, {_HITS} tokens."),
    Row("external_prefix_cache_queries", f"External prefix cache queries, {_QUERIES} tokens."),
    Row("external_prefix_cache_hits", f"External prefix cache hits, {_HITS} tokens."),
    Row("mm_cache_queries", f"Multi-modal cache queries, {_QUERIES} items."),
    Row("mm_cache_hits", f"Multi-modal cache hits, {_HITS} items."),
    Row("num_preemptions", "Cumulative number of preemption from the engine."),
    Row("prompt_tokens", "Number of prefill tokens processed."),
    Row("prompt_tokens_by_source", "Number of prompt tokens by source.", ("source",), _SOURCES),
    Row("prompt_tokens_cached", "Number of cached prompt tokens (local + external)."),
    Row("prompt_tokens_cached_by_source", "Prefix-cache hit tokens by cache tier.", ("source",), _TIERS),
    Row("generation_tokens", "Number of generation tokens processed."),
    Row("request_success", "Count of successfully processed requests.", ("finished_reason",), _REASONS),
    Row(
        "admission_rejections",
        "Number of admission attempts rejected by a queue limit, by reason.",
        ("reason",),
        ("max_num_queued_reqs", "max_num_queued_tokens"),
        no_engine=True,
    ),
)
SPECULATION = (
    Row("spec_decode_num_drafts", "Number of spec decoding drafts."),
    Row("spec_decode_num_draft_tokens", "Number of draft tokens."),
    Row("spec_decode_num_accepted_tokens", "Number of accepted tokens."),
    Row("spec_decode_num_accepted_tokens_per_pos", "Accepted tokens per draft position.", ("position",)),
)
GAUGES = (
    Row("num_requests_running", "Number of requests in model execution batches."),
    Row("num_requests_waiting", "Number of requests waiting to be processed."),
    Row(
        "num_requests_waiting_by_reason",
        "Number of waiting requests by reason.",
        ("reason",),
        ("capacity", "deferred"),
    ),
    Row(
        "engine_sleep_state",
        "Engine sleep state; awake = 1 means engine is awake.",
        ("sleep_state",),
        ("awake", "weights_offloaded", "discard_all"),
    ),
    Row("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage."),
)
TOOL_PARSER = (
    "vllm:tool_call_parser_invocations",
    "Total number of ToolParser invocations. Non-streaming increments once per choice; streaming once per delta.",
)

_PHASES = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
_TTFT = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
    *(20, 40, 80, 160, 640, 2560),
)
_PER_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
_ITERATION = (1, *(2**power for power in range(3, 15)))


def histograms(max_model_len: int) -> tuple[Row, ...]:
    tokens = tuple(step * 10**power for power in range(8) for step in (1, 2, 5) if step * 10**power <= max_model_len)

    def phase(name: str, what: str) -> Row:
        return Row(name, f"Histogram of {what} for request.", buckets=_PHASES)

    return (
        Row("request_prompt_tokens", "Number of prefill tokens processed.", buckets=tokens),
        Row("request_generation_tokens", "Number of generation tokens processed.", buckets=tokens),
        Row("iteration_tokens_total", "Histogram of number of tokens per engine_step.", buckets=_ITERATION),
        Row(
            "request_max_num_generation_tokens",
            "Histogram of maximum number of requested generation tokens.",
            buckets=tokens,
        ),
        Row("request_params_n", "Histogram of the n request parameter.", buckets=(1, 2, 5, 10, 20)),
        Row("request_params_max_tokens", "Histogram of the max_tokens request parameter.", buckets=tokens),
        Row("time_to_first_token_seconds", "Histogram of time to first token in seconds.", buckets=_TTFT),
        Row("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", buckets=_PER_TOKEN),
        Row(
            "request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            buckets=_PER_TOKEN,
        ),
        Row("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", buckets=_PHASES),
        phase("request_queue_time_seconds", "time spent in WAITING phase"),
        phase("request_inference_time_seconds", "time spent in RUNNING phase"),
        phase("request_prefill_time_seconds", "time spent in PREFILL phase"),
        phase("request_decode_time_seconds", "time spent in DECODE phase"),
        Row(
            "request_num_preemptions",
            "Histogram of the number of times a request was preempted.",
            buckets=(1, 2, 3, 4, 5, 10, 20),
        ),
        Row(
            "request_prefill_kv_computed_tokens",
            "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
            buckets=tokens,
        ),
    )


# What a real server says of its cache beside the sizes. The labels change with every version.
_CACHE = {
    "_block_size_resolved": "True",
    "cache_dtype": "auto",
    "cache_hit_alignment_tokens": "None",
    "enable_mamba_shared_prefix_checkpoint": "False",
    "enable_prefix_caching": "True",
    "gpu_memory_utilization": "0.92",
    "hash_block_size": "None",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_cache_layout": "None",
    "kv_offloading_backend": "native",
    "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False",
    "mamba_block_size": "None",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "mamba_page_size_padded": "None",
    "mamba_ssm_cache_dtype": "float32",
    "num_cpu_blocks": "None",
    "num_gpu_blocks_override": "None",
    "prefix_cache_retention_interval": "0",
    "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None",
    "replayssm_buffer_len": "16",
    "skip_page_size_padded": "None",
    "sliding_window": "None",
    "swa_bounded_replay": "True",
    "use_kda_recoverssm": "False",
    "use_replayssm": "False",
    "user_specified_block_size": "False",
}


def cache_config(memory: KvMemory, max_model_len: int) -> dict[str, str]:
    """The labels of ``vllm:cache_config_info``."""
    blocks = memory.capacity_tokens // memory.block_tokens
    return _CACHE | {
        "block_size": str(memory.block_tokens),
        "effective_attention_block_size": str(memory.block_tokens),
        "kv_cache_max_concurrency": str(round(memory.capacity_tokens / max_model_len, 2)),
        "kv_cache_memory_bytes": str(round(memory.capacity_tokens / CONTEXT * KV_GB_PER_CONTEXT * 1e9)),
        "kv_cache_size_tokens": str(memory.capacity_tokens),
        "num_gpu_blocks": str(blocks),
    }
