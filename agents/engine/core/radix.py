"""KV memory by token with a radix tree, as SGLang's: the longest common prefix is reused, to the token.

    system + tools ──┬── question 1 ── answer 1 ── question 2
                     └── question 3                              leaves go first, least recently used first

A node that a running request stands on, and all above it, cannot be evicted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from agents.engine.core.memory import Tokens


@dataclass(eq=False)
class _Node:
    tokens: list[str]
    above: _Node | None
    below: dict[str, _Node] = field(default_factory=dict)
    holders: int = 0  # requests that stand on this node or below it
    used: int = 0  # when last, by a counter

    def path(self) -> Iterator[_Node]:
        node: _Node | None = self
        while node is not None and node.above is not None:
            yield node
            node = node.above


@dataclass
class _Lease:
    at: _Node
    shared: int  # tokens from the root to ``at``
    own: int = 0  # tokens reserved beyond them


class RadixMemory:
    block_tokens = 1

    def __init__(self, capacity_tokens: int) -> None:
        self.capacity_tokens = capacity_tokens
        self._root = _Node([], None)
        self._in_tree = self._locked = self._own = 0
        self._leases: dict[str, _Lease] = {}
        self._turn = count(1)

    def admit(self, holder: str, tokens: Tokens) -> int:
        # The last token is always computed: there would be nothing to predict the next one from.
        node, length = self._walk(tokens, max(0, len(tokens) - 1))
        self._hold(node)
        self._leases[holder] = _Lease(node, length)
        return length

    def reserve(self, holder: str, total: int) -> bool:
        lease = self._leases[holder]
        more = total - lease.shared - lease.own
        if more <= 0:
            return True
        if self._free < more:
            self._evict(more - self._free)
        if self._free < more:
            return False
        lease.own += more
        self._own += more
        return True

    def keep(self, holder: str, tokens: Tokens) -> None:
        """Moves computed tokens from the holder's own room into the tree. What another put there meanwhile
        is shared from now on, and the holder's copy of it is given back."""
        lease = self._leases[holder]
        node, _ = self._insert(tokens)
        self._hold(node)
        self._let_go(lease.at)
        moved = min(lease.own, max(0, len(tokens) - lease.shared))
        self._own -= moved
        self._leases[holder] = _Lease(node, len(tokens), lease.own - moved)

    def release(self, holder: str) -> None:
        lease = self._leases.pop(holder, None)
        if lease is not None:
            self._own -= lease.own
            self._let_go(lease.at)

    def forget(self) -> None:
        self._evict(self._in_tree)

    @property
    def held_tokens(self) -> int:
        return self._own + self._locked

    @property
    def kept_tokens(self) -> int:
        return self._in_tree - self._locked

    @property
    def _free(self) -> int:
        return self.capacity_tokens - self._in_tree - self._own

    def _walk(self, tokens: Tokens, limit: int) -> tuple[_Node, int]:
        """The node where the longest kept prefix of ``tokens[:limit]`` ends, split so that one ends there."""
        node, at, turn = self._root, 0, next(self._turn)
        while at < limit:
            below = node.below.get(tokens[at])
            if below is None:
                break
            same = _common(below.tokens, tokens, at, limit)
            if same < len(below.tokens):
                below = self._split(below, same)
            node, at = below, at + same
            node.used = turn
        return node, at

    def _split(self, node: _Node, at: int) -> _Node:
        above = node.above
        assert above is not None
        upper = _Node(node.tokens[:at], above, {node.tokens[at]: node}, node.holders, node.used)
        above.below[upper.tokens[0]] = upper
        node.tokens, node.above = node.tokens[at:], upper
        return upper

    def _insert(self, tokens: Tokens) -> tuple[_Node, int]:
        node, at = self._walk(tokens, len(tokens))
        if at < len(tokens):
            new = _Node(list(tokens[at:]), node, used=next(self._turn))
            node.below[new.tokens[0]] = new
            self._in_tree += len(new.tokens)
            node = new
        return node, len(tokens)

    def _hold(self, node: _Node) -> None:
        for each in node.path():
            if not each.holders:
                self._locked += len(each.tokens)
            each.holders += 1

    def _let_go(self, node: _Node) -> None:
        for each in node.path():
            each.holders -= 1
            if not each.holders:
                self._locked -= len(each.tokens)

    def _evict(self, tokens: int) -> None:
        """Drop leaves that nobody holds, least recently used first, until so many tokens are free."""
        order = count()
        leaves = [(leaf.used, next(order), leaf) for leaf in self._leaves() if not leaf.holders]
        heapq.heapify(leaves)
        while tokens > 0 and leaves:
            _, _, leaf = heapq.heappop(leaves)
            above = leaf.above
            assert above is not None
            del above.below[leaf.tokens[0]]
            self._in_tree -= len(leaf.tokens)
            tokens -= len(leaf.tokens)
            if above is not self._root and not above.below and not above.holders:
                heapq.heappush(leaves, (above.used, next(order), above))

    def _leaves(self) -> Iterator[_Node]:
        open_: list[_Node] = list(self._root.below.values())
        while open_:
            node = open_.pop()
            if node.below:
                open_ += node.below.values()
            else:
                yield node


def _common(kept: Tokens, tokens: Tokens, start: int, limit: int) -> int:
    """How many tokens of ``kept`` are those of ``tokens`` from ``start``."""
    most = min(len(kept), limit - start)
    for at in range(most):
        if kept[at] != tokens[start + at]:
            return at
    return most
