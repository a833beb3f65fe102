"""Values cut to a size, with a mark that says so. Pure.

JSON is cut inside its longest strings, so that it stays JSON and what the adapters read of it (roles, tool calls,
ids, finish reasons) survives. Where it has too many strings for that, only what they read is left. All sizes are
bytes of UTF-8.
"""

from __future__ import annotations

import json
from typing import Any

from ingest.semconv.payload import bones

MARK_BYTES = 64  # room for one mark
_SHORTEST = 256  # a string below this is not cut: its mark would be longer than what it saves
_MAX_DEPTH = 60
_MOST_VALUES = 100_000  # of one document; more take too long to look through while others wait


def mark(size_bytes: int) -> str:
    return f"… [cut by Sixstage: {size_bytes:,} bytes]"


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def shortened(value: Any, limit_bytes: int) -> Any:
    """A value of at most about ``limit_bytes``, cut where it is over; lists and objects by their longest strings."""
    if isinstance(value, str):
        return shortened_text(value, limit_bytes)
    if isinstance(value, bytes):
        return value if len(value) <= limit_bytes else value[:limit_bytes]
    if isinstance(value, list | dict):
        return _cut_within(value, limit_bytes) or mark(size_of(_dumped(value)))
    return value


def shortened_text(text: str, limit_bytes: int) -> str:
    size = size_of(text)
    if size <= limit_bytes:
        return text
    if text[:1] in ("[", "{") and limit_bytes > _SHORTEST:
        try:
            value = json.loads(text)
            within = _cut_within(value, limit_bytes) or _bones(value, size, limit_bytes)
        except (ValueError, RecursionError):
            within = None
        if within is not None:
            return _dumped(within)
    said = mark(size)
    room = max(0, limit_bytes - size_of(said))
    return text.encode(errors="replace")[:room].decode(errors="ignore") + said


def _cut_within(value: Any, limit_bytes: int) -> Any:
    """A document whose JSON fits; None where even without its long strings it would not."""
    lengths = _lengths(value)
    if lengths is None:
        return None
    over = size_of(_dumped(value)) - limit_bytes
    if over <= 0:
        return value
    cap = _cap(sorted(lengths, reverse=True), over)
    if cap is None:
        return None
    cut = _capped(value, cap)
    # Escapes count in the JSON and not in the string, so a first cut may fall short; then a harder one.
    while size_of(_dumped(cut)) > limit_bytes:
        if cap <= _SHORTEST:
            return None
        cap = max(_SHORTEST, cap // 2)
        cut = _capped(value, cap)
    return cut


def _bones(value: Any, size_bytes: int, limit_bytes: int) -> Any:
    """What the adapters read of a document of many short strings, and a mark; None where even that is too much."""
    if _lengths(value) is None:
        return None
    kept = bones(value)
    if isinstance(kept, dict):
        kept = {"": mark(size_bytes), **kept}
    elif isinstance(kept, list):
        kept = [mark(size_bytes), *kept]
    return kept if size_of(_dumped(kept)) <= limit_bytes else None


def _cap(lengths: list[int], over: int) -> int | None:
    """The length to which all longer strings are cut, so that ``over`` bytes go and each cut one has its mark."""
    longest = 0
    for number, length in enumerate(lengths):
        following = lengths[number + 1] if number + 1 < len(lengths) else 0
        longest += length
        taken = longest - over - MARK_BYTES * (number + 1)
        cap = taken // (number + 1)
        if cap >= max(following, _SHORTEST):
            return cap
        if length < _SHORTEST:
            return None
    return _SHORTEST if lengths and lengths[0] > _SHORTEST else None


def _lengths(value: Any) -> list[int] | None:
    """The sizes of all strings in a document; None where it has too many values to be looked through."""
    found: list[int] = []
    waiting, seen = [value], 0
    while waiting:
        seen += 1
        if seen > _MOST_VALUES:
            return None
        one = waiting.pop()
        if isinstance(one, str | bytes):
            found.append(len(one) if isinstance(one, bytes) else size_of(one))
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def _capped(value: Any, cap: int, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value if size_of(value) <= cap + MARK_BYTES else shortened_text(value, cap + MARK_BYTES)
    if isinstance(value, bytes):
        return value[:cap]
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _capped(inner, cap, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_capped(inner, cap, depth + 1) for inner in value]
    return value


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda raw: raw.decode("latin-1"))
