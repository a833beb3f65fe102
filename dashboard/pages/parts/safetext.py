"""Text that somebody sent, made harmless to look at. Escaping HTML is the template's work; this is about characters
that change how other text looks."""

from __future__ import annotations

import json
import re
from typing import Any

_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
PRETTY_LIMIT = 400_000


def visible(text: str) -> str:
    """Control characters as their pictures (␛), marks that turn the direction of text as their numbers."""
    text = _CONTROL.sub(lambda m: "␡" if m[0] == "\x7f" else chr(0x2400 + ord(m[0])), text)
    return _DIRECTION.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text)


def as_text(value: Any, wide: int = 0) -> str:
    """An attribute as people read it: text as it is, JSON laid out unless it fits on a line of ``wide`` characters."""
    if isinstance(value, str):
        return visible(value if len(value) <= wide else _laid_out(value))
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= wide or not isinstance(value, dict | list):
        return visible(line)
    return visible(json.dumps(value, ensure_ascii=False, indent=2))


def _laid_out(text: str) -> str:
    if text[:1] not in ("{", "[") or len(text) > PRETTY_LIMIT:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text
