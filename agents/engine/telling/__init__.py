"""What an engine tells about itself, in the words of vLLM 0.32 and of SGLang 0.5.23: spans and a `/metrics` page.

Both are made from the scheduler's events and a request's own times, so they cannot disagree with the event log.
"""

from agents.engine.telling.style import SGLANG, VLLM, Style

__all__ = ["SGLANG", "VLLM", "Style"]
