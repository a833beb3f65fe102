"""The first token of a call that nobody knows it of, by how fast its model wrote elsewhere (docs/latency-model.md,
"Estimates").

call  |========= prefill =========|====== decode ======|
      start                       first token          end
                                  |<- (tokens - 1) · time per output token, measured on other calls
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingest.frozen import Frozen
from ingest.stages.model import UNKNOWN, Call

MIN_CALLS = 5
# How far the basis's own spread may move the first token, as a share of the call.
MOST_SPREAD_PERCENT = 20


class BasisKey(NamedTuple):
    """Whose speed is alike: calls of one service to one model on one engine (None where nobody names it)."""

    service: str
    model: str
    engine: str | None


class Basis(Frozen, frozen=True, kw_only=True):
    """Measured time per output token of ``calls`` calls: the median, and the quartiles about it."""

    tpot_ns: int
    low_ns: int
    high_ns: int
    calls: int

    @property
    def is_enough(self) -> bool:
        return self.calls >= MIN_CALLS


Bases = Mapping[BasisKey, Basis]


def estimate(*, start_ns: int, end_ns: int, output_tokens: int | None, basis: Basis) -> int | None:
    """When the first token came: as long before the end as the rest of the output takes.

    None rather than a guess: without tokens, on too few calls, where they differ so much that the instant is
    anywhere, and where the rest would take the whole call.
    """
    if not output_tokens or not basis.is_enough:
        return None
    intervals = output_tokens - 1
    wall_ns, decode_ns = end_ns - start_ns, intervals * basis.tpot_ns
    if decode_ns >= wall_ns:
        return None
    if (basis.high_ns - basis.low_ns) * intervals * 100 > wall_ns * MOST_SPREAD_PERCENT:
        return None
    return end_ns - decode_ns


def wants_estimate(call: Call) -> bool:
    """Whether a basis could help: an answer of known length, in one go, and nobody to split it."""
    return call.source is UNKNOWN and bool(call.output_tokens) and call.error is None and call.attempts == 1
