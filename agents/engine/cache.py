"""A prefix cache of fixed-size blocks, as vLLM's: a chain of hashes, each standing for all text before it."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence


def block_chain(text: str, block_chars: int) -> list[bytes]:
    """One hash for each whole block of ``text``. Equal hashes mean equal text from the start to there."""
    running, chain = hashlib.blake2b(digest_size=16), []
    for start in range(0, len(text) - block_chars + 1, block_chars):
        running.update(text[start : start + block_chars].encode())
        chain.append(running.digest())
    return chain


class PrefixCache:
    """Which blocks are held; the least recently used go first, the end of a prompt before its start."""

    def __init__(self, blocks: int) -> None:
        self._capacity = blocks
        self._held: OrderedDict[bytes, None] = OrderedDict()

    def match(self, chain: Sequence[bytes]) -> int:
        """How many blocks from the start are held."""
        found = 0
        while found < len(chain) and chain[found] in self._held:
            found += 1
        self._touch(chain[:found])
        return found

    def insert(self, chain: Sequence[bytes]) -> None:
        self._touch(chain[: self._capacity])
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)

    def clear(self) -> None:
        self._held.clear()

    def _touch(self, chain: Sequence[bytes]) -> None:
        # From the end, so that a prompt's start is the last to go: later blocks are useless without it.
        for block in reversed(chain):
            self._held[block] = None
            self._held.move_to_end(block)
