"""What an engine's steps cost. Set before their effects are measured, never tuned to a published percentage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """Seconds of a step, and the limits of a step. The defaults: 70 B parameters at 8 bit, one 80 GB GPU.

        step = step_overhead_s
             + prefill_per_token_s    × prompt tokens computed (tokens found in the cache are free)
             + attention_per_pair_s   × pairs of a computed prompt token and a token before it
             + decode_base_s            if any sequence decodes: the weights are read once for all of them
             + decode_per_sequence_s  × sequences that decode
             + decode_per_context_s   × tokens of their contexts: each reads its own KV
             + prefill_per_token_s    × draft tokens checked
             + what drafting costs (`Speculation`)
             + first_step_s             once, if the engine was not warmed up

    Left out, and so not shown: KV of several GPUs in several places, LoRA, images, structured output.
    """

    step_overhead_s: float = 0.004
    """Scheduling and launch of a step. Chosen for a lively demo; real ones are 1 to 5 ms."""

    prefill_per_token_s: float = 43e-6
    """Practice reports of 2026: 580 ms to the first token of a cold prompt of 12,000. Less 6 steps' overhead and
    with the attention term below, that is 43 µs a token."""

    attention_per_pair_s: float = 0.8e-9
    """Attention is 4 × width × layers operations a pair, all else 2 × parameters a token. With 8,192 × 80 and 70 B
    (Llama 3's published shape) a context of 53,000 tokens doubles a token's cost: 43 µs / 53,400."""

    decode_base_s: float = 0.021
    """70 GB of weights (70 B parameters at 8 bit), read once a step at 3.35 TB/s, an H100's data sheet."""

    decode_per_sequence_s: float = 0.0004
    """Sampling, detokenising and sending one token. Chosen; measured ones are 0.1 to 1 ms."""

    decode_per_context_s: float = 11e-9
    """Reports of 2026 give 1.2 GB of KV for 32 K tokens: 37 kB a token, read at 3.35 TB/s."""

    first_step_s: float = 0.0
    """What an engine that was not warmed up pays on its first step. Reports of 2026 give 0.5 to 2 s; 0 means
    warmed up, as vLLM and SGLang are before they take requests."""

    max_sequences: int = 8
    """Reports of 2026 compute 8 requests of 32 K context beside the weights on 80 GB."""

    max_batched_tokens: int = 2048
    """Prompt and output tokens of one step. Reports name 2 to 8 K; the low end keeps decodes going."""

    max_model_len: int = 32_768
    """Prompt and answer of one request: the 32 K context of the same report."""

    def step_s(
        self, prefill_tokens: int, decoding: int, *, pairs: int = 0, context: int = 0, draft_tokens: int = 0
    ) -> float:
        """One step. ``pairs`` belong to the prompt tokens, ``context`` is the sum over the decoding sequences."""
        spent = self.step_overhead_s + self.prefill_per_token_s * (prefill_tokens + draft_tokens)
        spent += self.attention_per_pair_s * pairs
        if decoding:
            spent += self.decode_base_s + self.decode_per_sequence_s * decoding + self.decode_per_context_s * context
        return spent


def pairs(computed_before: int, tokens: int) -> int:
    """Pairs of attention when ``tokens`` more are computed after ``computed_before``: each sees all before it."""
    return tokens * computed_before + tokens * (tokens - 1) // 2
