#!/usr/bin/env python3
"""Copy captures into tests/data, without what they tell of the machine on which they were made.

    copy_captures.py SOURCE_DIR [TARGET_DIR]       SOURCE_DIR holds corpus/, joined/ and engines/

Install paths in stack traces, host names and ids, and a kernel's build are masked by as many `x`, so that a
protobuf body stays valid and every length and offset in the truth files stays right. Compressed bodies are
unfolded, masked and folded again, and what their meta files say of their size is corrected.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

WANTED = {
    "corpus": ("*/raw-*.bin", "*/raw-*.meta.json", "*/*.json"),
    "joined": ("*/raw-*.bin", "*/raw-*.meta.json", "*/*.json", "metrics/*"),
    "engines": ("snapshots/**/*", "spans/*/*", "truth_*.json", "crosscheck_*.txt", "metric_versions.txt"),
}
GZIP_MAGIC = b"\x1f\x8b"
WORD = re.compile(rb"\w")

# The part of an absolute path that tells where somebody keeps things: its first two components.
PLACE = re.compile(rb"/(?:home|mnt|opt|root|srv|tmp|Users|work|workspace)(?:/[\w.@+-]+)?(?=/)")
KERNEL = re.compile(rb"(?<=\d\.)\d+-[a-z]+-v\d+\b")
# A host's name or id: in protobuf as AnyValue { string_value } after the key, in OTLP/JSON, in decoded JSON.
HOST_IN_PROTOBUF = re.compile(rb"host\.(?:name|id)\x12.\n(?P<size>.)", re.DOTALL)
HOST_IN_JSON = (
    re.compile(rb'"host\.(?:name|id)",\s*"value":\s*\{\s*"stringValue":\s*"(?P<value>[^"]*)"'),
    re.compile(rb'"host\.(?:name|id)":\s*"(?P<value>[^"]*)"'),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path, nargs="?", default=Path(__file__).resolve().parents[1] / "data")
    args = parser.parse_args()
    copied = masked = 0
    for source in sources(args.source):
        target = args.target / source.relative_to(args.source)
        target.parent.mkdir(parents=True, exist_ok=True)
        body = source.read_bytes()
        clean = scrub_file(source, body)
        target.write_bytes(clean)
        copied, masked = copied + 1, masked + (clean != body)
    print(f"{copied} files copied, {masked} of them with something masked")
    return 0


def sources(root: Path) -> Iterator[Path]:
    """Every file that tests and benchmarks need, once."""
    for part, patterns in WANTED.items():
        found = {path for pattern in patterns for path in (root / part).glob(pattern) if path.is_file()}
        yield from sorted(found)


def scrub_file(path: Path, body: bytes) -> bytes:
    """A file's content as it may be published."""
    if path.name.endswith(".meta.json"):
        return _meta(path, body)
    if body.startswith(GZIP_MAGIC):
        return _folded(body)
    return scrub(body)


def scrub(content: bytes) -> bytes:
    """The same bytes with every word that tells of a machine masked; never longer or shorter."""
    clean = KERNEL.sub(_mask, PLACE.sub(_mask, content))
    clean = _mask_sized(HOST_IN_PROTOBUF, clean)
    for pattern in HOST_IN_JSON:
        clean = pattern.sub(_mask_value, clean)
    assert len(clean) == len(content)
    return clean


def _mask(found: re.Match[bytes]) -> bytes:
    return WORD.sub(b"x", found[0])


def _mask_value(found: re.Match[bytes]) -> bytes:
    return found[0].removesuffix(found["value"] + b'"') + WORD.sub(b"x", found["value"]) + b'"'


def _mask_sized(pattern: re.Pattern[bytes], content: bytes) -> bytes:
    """Mask values whose length stands before them."""
    out = bytearray(content)
    for found in pattern.finditer(content):
        start, size = found.end(), found["size"][0]
        out[start : start + size] = WORD.sub(b"x", content[start : start + size])
    return bytes(out)


def _folded(body: bytes) -> bytes:
    plain = gzip.decompress(body)
    clean = scrub(plain)
    return body if clean == plain else gzip.compress(clean, mtime=0)


def _meta(path: Path, text: bytes) -> bytes:
    """A body's meta file; where masking changed the compressed size, with the new size."""
    clean = scrub(text)
    body_path = path.with_name(path.name.replace(".meta.json", ".bin"))
    size, new_size = body_path.stat().st_size, len(scrub_file(body_path, body_path.read_bytes()))
    if size == new_size:
        return clean
    meta = json.loads(clean)
    meta["bytes"] = new_size
    if "content-length" in meta["headers"]:
        meta["headers"]["content-length"] = str(new_size)
    return json.dumps(meta, indent=1).encode()


if __name__ == "__main__":
    sys.exit(main())
