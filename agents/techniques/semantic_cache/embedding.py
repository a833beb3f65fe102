"""Text to vector. The default needs no model and no network, and knows spelling, not meaning."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

_WORD = re.compile(r"\w+", re.UNICODE)


class Embedding(Protocol):
    name: str
    """Part of the cache's version: vectors of two embeddings are never compared."""

    def vector(self, text: str) -> Sequence[float]:
        """Of length 1."""


class HashedWords:
    """Words, pairs of words and groups of three letters, hashed into ``size`` numbers.

    Finds other spellings and word orders of a question; two questions in different words are strangers to it. Words
    with digits weigh more: order 7 is not order 8. Source: feature hashing (Weinberger et al. 2009); weights chosen.
    """

    def __init__(self, size: int = 256) -> None:
        self.size, self.name = size, f"hashed-words-{size}"

    def vector(self, text: str) -> Sequence[float]:
        numbers = [0.0] * self.size
        for feature, weight in _features(text.casefold()):
            digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
            at = int.from_bytes(digest[:4], "big") % self.size
            numbers[at] += weight if digest[4] & 1 else -weight
        length = math.sqrt(sum(number * number for number in numbers))
        if not length:
            return numbers
        return [number / length for number in numbers]


class SentenceModel:
    """A sentence-embedding model: meaning, not spelling. Needs ``pip install sentence-transformers``."""

    def __init__(self, name: str = "all-MiniLM-L6-v2") -> None:
        try:
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]
        except ImportError as error:
            raise ImportError("SentenceModel needs sentence-transformers: pip install sentence-transformers") from error
        self.name = name
        self._model: Any = SentenceTransformer(name)

    def vector(self, text: str) -> Sequence[float]:
        return [float(number) for number in self._model.encode(text, normalize_embeddings=True)]


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text)
    for word in words:
        yield f"w {word}", 4.0 if any(letter.isdigit() for letter in word) else 1.0
        padded = f"^{word}$"
        for at in range(len(padded) - 2):
            yield f"l {padded[at : at + 3]}", 0.4
    for left, right in pairwise(words):
        yield f"p {left} {right}", 0.5
