"""KV memory in blocks of fixed size with a prefix cache, as vLLM's.

A block's name is a hash over all text before it and its own, so equal names mean an equal start:

    prompt   |aaaa|bbbb|cccc|d        only whole blocks are named, and only from the very start do they match
    names     h(a) h(ab) h(abc)

A released block keeps its name and joins the end of the free list; taking it from the front forgets the name. The
end of a prompt is released before its start, so that starts are the last to go.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.engine.core.memory import Tokens


def name_on(hash_: hashlib.blake2b, tokens: Tokens, block_tokens: int, start: int = 0) -> Iterator[bytes]:
    """A name for each whole block from token ``start`` on; ``hash_`` has seen all before it."""
    for at in range(start, len(tokens) - block_tokens + 1, block_tokens):
        # A length before each token: ["ab", "c"] is another block than ["a", "bc"].
        hash_.update("".join(f"{len(token)}:{token}" for token in tokens[at : at + block_tokens]).encode())
        yield hash_.digest()


@dataclass(eq=False)
class _Block:
    name: bytes | None = None
    holders: int = 0


@dataclass
class _Lease:
    blocks: list[_Block] = field(default_factory=list)
    names: list[bytes] = field(default_factory=list)  # of the blocks from the start that were offered for reuse
    hash: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))


class PagedMemory:
    def __init__(self, capacity_tokens: int, block_tokens: int = 16) -> None:
        """``block_tokens``: vLLM's default on GPUs is 16, on CPUs 128."""
        self.block_tokens = block_tokens
        self.blocks = max(1, capacity_tokens // block_tokens)
        self.capacity_tokens = self.blocks * block_tokens
        blocks = [_Block() for _ in range(self.blocks)]
        self._free: OrderedDict[int, _Block] = OrderedDict((id(block), block) for block in blocks)
        self._named: dict[bytes, _Block] = {}
        self._leases: dict[str, _Lease] = {}

    def admit(self, holder: str, tokens: Tokens) -> int:
        # The last token is always computed: there would be nothing to predict the next one from.
        lease = _Lease()
        before = lease.hash.copy()
        for name in name_on(lease.hash, tokens[:-1], self.block_tokens):
            block = self._named.get(name)
            if block is None:
                lease.hash = before
                break
            self._free.pop(id(block), None)
            block.holders += 1
            lease.blocks.append(block)
            lease.names.append(name)
            before = lease.hash.copy()
        self._leases[holder] = lease
        return len(lease.blocks) * self.block_tokens

    def reserve(self, holder: str, total: int) -> bool:
        lease = self._leases[holder]
        wanted = -(-total // self.block_tokens) - len(lease.blocks)
        if wanted > len(self._free):
            return False
        for _ in range(wanted):
            _, block = self._free.popitem(last=False)
            self._unname(block)
            block.holders = 1
            lease.blocks.append(block)
        return True

    def keep(self, holder: str, tokens: Tokens) -> None:
        lease = self._leases[holder]
        for name in name_on(lease.hash, tokens, self.block_tokens, len(lease.names) * self.block_tokens):
            block = lease.blocks[len(lease.names)]
            if name not in self._named:  # who computed it first names it
                block.name, self._named[name] = name, block
            lease.names.append(name)

    def release(self, holder: str) -> None:
        lease = self._leases.pop(holder, None)
        for block in reversed(lease.blocks if lease else ()):
            block.holders -= 1
            if not block.holders:
                self._free[id(block)] = block

    def forget(self) -> None:
        for block in self._free.values():
            self._unname(block)

    def _unname(self, block: _Block) -> None:
        if block.name is not None:
            del self._named[block.name]
            block.name = None

    @property
    def held_tokens(self) -> int:
        return (self.blocks - len(self._free)) * self.block_tokens

    @property
    def kept_tokens(self) -> int:
        return sum(block.name is not None for block in self._free.values()) * self.block_tokens
