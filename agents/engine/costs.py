"""What a simulated engine's steps cost. Set before their effects are measured, never tuned to a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """Seconds per engine step, and the limits of a step.

        step = step_overhead_s
             + prefill_per_token_s  × prompt tokens computed in the step (tokens found in the cache are free)
             + decode_base_s          if any sequence decodes: the weights are read once for all of them
             + decode_per_sequence_s × sequences that decode: each reads its own context

    Left out, and so not shown: the growth of attention with context, KV memory and preemption, speculation.
    """

    step_overhead_s: float = 0.004
    """Scheduling and launch. Chosen for a lively demo."""

    prefill_per_token_s: float = 48e-6
    """Practice reports of 2026 give 580 ms to the first token of a cold 12 K prompt: 48 µs a token."""

    decode_base_s: float = 0.022
    """Chosen for a lively demo: about 37 tokens/s for one user, so that decode is well seen."""

    decode_per_sequence_s: float = 0.0008
    """Chosen for a lively demo: six users at once are each served about 15 % slower."""

    max_sequences: int = 6
    """Chosen for a lively demo: a burst of ten queues. Reports compute 8 for a 32 K context in 80 GB."""

    max_batched_tokens: int = 2048
    """Prompt and output tokens of one step. Reports name 2–8 K; the low end keeps decodes going."""

    block_tokens: int = 16
    """Prefix cache block: vLLM's default on GPUs. Only whole blocks from the very start match."""

    cache_blocks: int = 8192
    """Chosen for a lively demo: 131 K tokens, so that the prefixes of several agents stay."""

    chars_per_token: int = 4
    """The usual rule of thumb for English text."""

    def step_s(self, prefill_tokens: int, decoding: int) -> float:
        decode_s = self.decode_base_s + self.decode_per_sequence_s * decoding if decoding else 0.0
        return self.step_overhead_s + self.prefill_per_token_s * prefill_tokens + decode_s

    def tokens(self, text: str) -> int:
        return max(1, -(-len(text) // self.chars_per_token))


SMALL = CostModel(
    # Chosen for a lively demo: a model with a ninth of the weights, with the fixed costs that remain.
    step_overhead_s=0.003,
    prefill_per_token_s=12e-6,
    decode_base_s=0.014,
    decode_per_sequence_s=0.0004,
    max_sequences=8,
)
