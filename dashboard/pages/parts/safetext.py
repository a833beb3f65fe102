"""Text that somebody sent, made harmless to look at and pleasant to read. Escaping HTML is the template's work; this is
about characters that change how other text looks, about JSON, and about pictures that came as text."""

from __future__ import annotations

import json
import re
from typing import Any

from dashboard.figures import size

_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_LONE = re.compile("[\ud800-\udfff]")
# With what it is of, if it says so. A long word in three kinds of characters is no prose.
_BASE64 = re.compile(r"(?:data:([\w.+-]+/[\w.+-]+);base64,)?([A-Za-z0-9+/_-]{256,}={0,2})")
_MIXED = [re.compile(kind) for kind in ("[a-z]", "[A-Z]", "[0-9]")]
PRETTY_LIMIT = 400_000
NESTED = 3  # how often JSON within JSON is laid out


def visible(text: str) -> str:
    """Control characters as their pictures (␛), marks that turn the direction of text as their numbers."""
    text = _CONTROL.sub(lambda m: "␡" if m[0] == "\x7f" else chr(0x2400 + ord(m[0])), text)
    text = _DIRECTION.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text)
    return _LONE.sub("\ufffd", text)  # halves of characters, which UTF-8 cannot hold


def as_text(value: Any, wide: int = 0) -> str:
    """An attribute as people read it: text as it is, JSON laid out unless it fits on a line of ``wide`` characters,
    and pictures and other base64 as their size."""
    if isinstance(value, str):
        return visible(value if len(value) <= wide else folded_blobs(_laid_out(value)))
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= wide or not isinstance(value, dict | list):
        return visible(line)
    return visible(folded_blobs(json.dumps(_opened(value, NESTED), ensure_ascii=False, indent=2)))


def folded_blobs(text: str) -> str:
    """Base64 by what it is and how much: nobody reads it, and a picture of megabytes hides the text around it."""
    return _BASE64.sub(_folded, text)


def _folded(found: re.Match[str]) -> str:
    kind, blob = found[1], found[2]
    if not kind and not all(part.search(blob) for part in _MIXED):
        return found[0]
    return f"⟨{kind or 'base64'}, {size(len(blob) * 3 // 4)}⟩"


def _laid_out(text: str) -> str:
    if len(text) > PRETTY_LIMIT:
        return text
    value = _read(text)
    return text if value is None else json.dumps(_opened(value, NESTED), ensure_ascii=False, indent=2)


def _opened(value: Any, levels: int) -> Any:
    """Texts within it that are JSON themselves, as what they say: SDKs put messages into texts into messages."""
    if isinstance(value, str):
        read = _read(value) if levels else None
        return value if read is None else _opened(read, levels - 1)
    if isinstance(value, dict):
        return {key: _opened(item, levels) for key, item in value.items()}
    return [_opened(item, levels) for item in value] if isinstance(value, list) else value


def _read(text: str) -> Any:
    """What a text says that is a JSON object or list; None of any other."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
