"""When to ask again, and after how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from agents.errors import ModelError

TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP status codes after which the same request may do better."""


@dataclass(frozen=True, kw_only=True)
class Retries:
    """At most ``attempts`` in all, with a growing random pause between them (full jitter, so that clients that failed
    together do not come back together). What the server says in ``Retry-After`` is kept to, up to ``longest_s``."""

    attempts: int = 3
    first_s: float = 0.5
    longest_s: float = 8.0
    random: Random = field(default_factory=Random)

    def pause_s(self, error: ModelError, attempt: int) -> float | None:
        """The pause after a failed ``attempt`` (from 1), or None: it is not worth another."""
        if not error.transient or attempt >= self.attempts:
            return None
        if error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= self.longest_s else None
        return self.random.uniform(0, min(self.longest_s, self.first_s * 2 ** (attempt - 1)))
