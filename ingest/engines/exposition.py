"""The Prometheus text format, line by line: what stands before a value is read once and remembered.

`prometheus_client`'s parser is the reference (equal on all captures, by test); it reads every label of every line
anew, 11 ms a page. Labels of a page hardly ever change, so a line costs a lookup and a float.
"""

from __future__ import annotations

import re

from ingest.frozen import Frozen

MOST_HEADS = 200_000  # a server that puts ids into labels must not fill memory

_NAME = rb"[a-zA-Z_:][a-zA-Z0-9_:]*"
_HEAD = re.compile(rb"\s*(" + _NAME + rb")\s*(?:\{(.*)\})?\s*\Z", re.DOTALL)
_QUOTED_HEAD = re.compile(rb'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*(?:,(.*))?\}\s*\Z', re.DOTALL)
_LABEL = re.compile(rb"\s*(?:(" + _NAME + rb')|"((?:[^"\\]|\\.)*)")\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|\Z)', re.DOTALL)
# name{…} value [timestamp] [# {…} exemplar]
_LINE = re.compile(
    rb"\s*((?:" + _NAME + rb')?\s*(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?)\s*(\S+)'
    rb"(?:[ \t]+(-?[0-9.eE+]+))?\s*(?:#\s.*)?\Z",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"'}


class NotExposition(ValueError):
    """A line is neither a comment nor a sample: no page of metrics, or half a line."""


class Head(Frozen, frozen=True, kw_only=True):
    """What a line says before its value: the sample's name and its labels, in the page's order."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()

    def label(self, name: str) -> str | None:
        return next((value for key, value in self.labels if key == name), None)


class Heads:
    """The heads that have been read, by their bytes; shared by all pages."""

    def __init__(self) -> None:
        self.known: dict[bytes, Head] = {}

    def read(self, head: bytes) -> Head:
        """Raises NotExposition."""
        found = self.known.get(head)
        if found is None:
            if len(self.known) >= MOST_HEADS:
                self.known.clear()
            found = self.known[head] = parse_head(head)
        return found


HEADS = Heads()


def lines(page: bytes) -> list[tuple[bytes, bytes]]:
    """(head, value) of every sample on the page, as bytes. Raises NotExposition where a line cannot be one.

    A line with a time stamp or an exemplar is taken apart in full: its last word is not its value.
    """
    found = []
    for line in page.split(b"\n"):
        if not line or line[0] == 35:  # "#"
            continue
        head, space, value = line.rpartition(b" ")
        if not space or head[-1:] != b"}" or b"#" in head:
            whole = take_apart(line)
            if whole is None:
                continue
            head, value = whole
        found.append((head, value))
    return found


def take_apart(line: bytes) -> tuple[bytes, bytes] | None:
    """(head, value) of a line of any form; None for one that says nothing. Raises NotExposition."""
    stripped = line.strip()
    if not stripped or stripped.startswith(b"#"):
        return None
    whole = _LINE.match(stripped)
    if whole is None or not whole[1].strip():
        raise NotExposition(f"no sample: {stripped[:80]!r}")
    return whole[1].strip(), whole[2]


def number(value: bytes) -> float:
    """Raises NotExposition. NaN and infinities are numbers here; what they mean is for others to say."""
    try:
        if b"_" in value:
            raise ValueError
        return float(value)
    except ValueError:
        raise NotExposition(f"no number: {value[:40]!r}") from None


def samples(page: bytes, heads: Heads = HEADS) -> list[tuple[Head, float]]:
    """Every sample of the page. Raises NotExposition."""
    return [(heads.read(head), number(value)) for head, value in lines(page)]


def parse_head(head: bytes) -> Head:
    """Raises NotExposition."""
    plain = _HEAD.match(head)
    quoted = None if plain else _QUOTED_HEAD.match(head)
    found = plain or quoted
    if found is None:
        raise NotExposition(f"no series: {head[:80]!r}")
    name = found[1].decode("utf-8", "replace")
    return Head(name=_unescape(name) if quoted else name, labels=tuple(_labels(found[2] or b"", head)))


def _labels(text: bytes, head: bytes) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text) and text[at:].strip():
        label = _LABEL.match(text, at)
        if label is None:
            raise NotExposition(f"labels that cannot be read: {head[:80]!r}")
        name = label[1].decode() if label[1] is not None else _unescape(label[2].decode("utf-8", "replace"))
        found.append((name, _unescape(label[3].decode("utf-8", "replace"))))
        at = label.end()
    return found


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[0]), text) if "\\" in text else text
