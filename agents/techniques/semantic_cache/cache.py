"""Look up, and keep. See the package for what it saves and risks."""

from __future__ import annotations

import hashlib
import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.techniques.semantic_cache.embedding import Embedding, HashedWords
from agents.techniques.semantic_cache.entries import Entry, Store
from agents.techniques.semantic_cache.memory import MemoryStore

_WORD = re.compile(r"[\w-]+", re.UNICODE)
EXACT, SIMILAR, MISS = "exact", "similar", "miss"


@dataclass(frozen=True)
class Scope:
    """Whose answers. Without ``user`` those that all users of the tenant may see: only what was put there so."""

    tenant: str
    user: str | None = None


@dataclass(frozen=True)
class Hit:
    """An answer from the cache, and why. ``asked`` may differ from ``question``, which was answered."""

    kind: str
    asked: str
    question: str
    answer: str
    similarity: float
    age_ns: int
    shared: bool


class Spans(Protocol):
    """What the cache needs of `agents.telemetry.Telemetry`."""

    def plain(self, name: str) -> AbstractContextManager[Any]: ...


@dataclass
class SemanticCache:
    """``hit = await cache.find(scope, question)``; on None ask the model, then ``await cache.keep(…)``.

    ``version`` is whatever the answer depends on: model, prompt, index. Another version finds nothing of this one.
    """

    version: str = "1"
    store: Store = field(default_factory=MemoryStore)
    embedding: Embedding = field(default_factory=HashedWords)
    threshold: float = 0.92
    ttl_s: float = 3600.0
    similar: bool = True
    """False: exact matches only."""
    telemetry: Spans | None = None
    now_ns: Callable[[], int] = time.time_ns
    log: deque[Hit] = field(default_factory=lambda: deque(maxlen=1_000))
    """The last hits, to be read against complaints."""
    counts: dict[str, int] = field(default_factory=lambda: {EXACT: 0, SIMILAR: 0, MISS: 0})

    async def find(self, scope: Scope, question: str, *, telemetry: Spans | None = None) -> Hit | None:
        """The user's own answers first, then those shared within the tenant; exact before similar.

        ``telemetry``: of who asks, where several share the cache.
        """
        spans = telemetry or self.telemetry
        with spans.plain("semantic cache") if spans else nullcontext() as span:
            hit = await self._find(scope, question)
            kind = hit.kind if hit else MISS
            self.counts[kind] += 1
            if hit:
                self.log.append(hit)
            if span is not None:
                span.set_attribute("sixstage.cache.result", kind)
                if hit:
                    span.set_attribute("sixstage.cache.similarity", hit.similarity)
            return hit

    async def keep(self, scope: Scope, question: str, answer: str, *, ttl_s: float | None = None) -> None:
        """For this user; or for all of the tenant, where the scope names no user."""
        now_ns = self.now_ns()
        until_ns = now_ns + round((self.ttl_s if ttl_s is None else ttl_s) * 1e9)
        vector = self.embedding.vector(question) if self.similar else ()
        await self.store.put(self._space(scope), Entry(_key(question), question, answer, vector, now_ns, until_ns))

    async def forget(self, scope: Scope, question: str | None = None) -> int:
        """One answer of this scope, or all of them; how many went. What is shared stays unless it is named so."""
        return await self.store.drop(self._space(scope), _key(question) if question is not None else None)

    async def _find(self, scope: Scope, question: str) -> Hit | None:
        now_ns, key = self.now_ns(), _key(question)
        scopes = [scope, Scope(scope.tenant)] if scope.user is not None else [scope]
        for each in scopes:
            entry = await self.store.exact(self._space(each), key)
            if entry and entry.until_ns > now_ns:
                return _hit(EXACT, question, entry, 1.0, now_ns, each)
        if not self.similar:
            return None
        vector = self.embedding.vector(question)
        for each in scopes:
            found = await self.store.nearest(self._space(each), vector, now_ns)
            if found and found[1] >= self.threshold and _ids(found[0].question) == _ids(question):
                return _hit(SIMILAR, question, found[0], found[1], now_ns, each)
        return None

    def _space(self, scope: Scope) -> str:
        """A digest of parts with their lengths: no choice of names makes two scopes one."""
        parts = [self.version, self.embedding.name, scope.tenant, *([] if scope.user is None else [scope.user])]
        told = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def _hit(kind: str, asked: str, entry: Entry, similarity: float, now_ns: int, scope: Scope) -> Hit:
    age_ns = now_ns - entry.made_ns
    return Hit(kind, asked, entry.question, entry.answer, similarity, age_ns, scope.user is None)


def _ids(question: str) -> set[str]:
    """Words with digits: order 7 is not order 8, however alike the questions are."""
    return {word for word in _WORD.findall(question.casefold()) if any(letter.isdigit() for letter in word)}


def _key(question: str) -> str:
    """Equal but for case and white space is the same question."""
    return hashlib.blake2b(" ".join(question.casefold().split()).encode(), digest_size=16).hexdigest()
