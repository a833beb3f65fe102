"""Sizes and precisions of whole engines, and what follows from them. A profile is chosen, never fitted to a result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.engine.core.costs import CostModel

CONTEXT = 32_768
KV_GB_PER_CONTEXT = 1.2
"""Practice reports of 2026: 80 GB of GPU, 70 GB of weights, 1.2 GB of KV for a request of 32 K: 8 of them."""


@dataclass(frozen=True, kw_only=True)
class Quantisation:
    """A precision of the weights, against the cost model's own 8 bit."""

    name: str
    bits: int
    compute: float
    """Prefill's time against 8 bit."""
    tool_format_errors: float
    """Share of tool calls whose arguments are no valid JSON."""

    def applied(self, costs: CostModel) -> CostModel:
        """Decode reads the weights, so it goes with their size; prefill computes."""
        return replace(
            costs,
            decode_base_s=costs.decode_base_s * self.bits / 8,
            prefill_per_token_s=costs.prefill_per_token_s * self.compute,
        )

    def weights_gb(self, parameters_b: float) -> float:
        return parameters_b * self.bits / 8


BF16 = Quantisation(name="bf16", bits=16, compute=2.0, tool_format_errors=0.0)
"""Half of 8 bit's operations a second, by the data sheets."""
FP8 = Quantisation(name="fp8", bits=8, compute=1.0, tool_format_errors=0.0)
"""Reports call it usually safe."""
INT4 = Quantisation(name="int4", bits=4, compute=2.0, tool_format_errors=0.04)
"""Weights only: it computes in 16 bit. Reports say that format errors rise, none says by how much: 4 % is chosen."""


def kv_tokens(gpu_gb: float = 80, weights_gb: float = 70, gb_per_context: float = KV_GB_PER_CONTEXT) -> int:
    """Tokens of KV beside the weights; 273,066 with the report's figures."""
    if weights_gb >= gpu_gb:
        raise ValueError(f"{weights_gb:g} GB of weights do not fit beside any KV in {gpu_gb:g} GB")
    return int((gpu_gb - weights_gb) / gb_per_context * CONTEXT)


SMALL = CostModel(
    # 8 B parameters at 8 bit on the same GPU: 8 GB read in 2.4 ms; computing shrinks with the parameters, 43 µs × 8/70;
    # attention with width × layers, 4,096 × 32 against 8,192 × 80. What does not shrink is chosen as above.
    step_overhead_s=0.004,
    prefill_per_token_s=4.9e-6,
    attention_per_pair_s=0.16e-9,
    decode_base_s=0.0024,
    decode_per_context_s=11e-9,
    max_sequences=16,
)

MEDIUM = CostModel(
    # 32 B parameters at 8 bit on the same GPU, by the same rule: 43 µs × 32/70, 32 GB read in 9.6 ms, attention with
    # 5,120 × 64 (Qwen 2.5's published shape).
    prefill_per_token_s=20e-6,
    attention_per_pair_s=0.4e-9,
    decode_base_s=0.0096,
    decode_per_context_s=11e-9,
)
