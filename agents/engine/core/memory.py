"""What the scheduler asks of KV memory, whether it is kept in blocks or in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Tokens = Sequence[str]


class KvMemory(Protocol):
    """Room for the keys and values of tokens. Holders are requests, by id.

    What a holder has released stays for reuse until the room is needed: the least recently used goes first.
    """

    capacity_tokens: int
    block_tokens: int
    """Reuse and room are counted in so many tokens; 1 where the grain is a token."""

    def admit(self, holder: str, tokens: Tokens) -> int:
        """Hold the longest kept prefix of ``tokens``; how many tokens that is."""

    def reserve(self, holder: str, total: int) -> bool:
        """Room for ``total`` tokens of the holder in all, those it has included. False: there is none, and
        nothing has changed but what was evicted on the way."""

    def keep(self, holder: str, tokens: Tokens) -> None:
        """The keys of all these tokens, from the holder's start, are computed now and may be reused."""

    def release(self, holder: str) -> None:
        """Give everything back. An unknown holder is no error."""

    def forget(self) -> None:
        """Drop what is kept for reuse and held by nobody: a cold cache."""

    @property
    def held_tokens(self) -> int:
        """Of unfinished requests; what is only kept for reuse counts as free."""

    @property
    def kept_tokens(self) -> int:
        """Kept for reuse and held by nobody."""
