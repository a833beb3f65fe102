"""The captures under tests/data: where each lies and what is in it. tests/data/README.md says more."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Body:
    """One export request as it was received."""

    path: Path

    @property
    def meta(self) -> dict[str, Any]:
        return read_json(self.path.with_suffix(".meta.json"))

    @property
    def signal(self) -> str:
        """``traces``, ``metrics`` or ``logs``, whether it came by HTTP or by gRPC."""
        path = self.meta["path"].lower()
        return next(name for name in ("traces", "metrics", "logs") if name.removesuffix("s") in path)

    @property
    def is_json(self) -> bool:
        return "json" in (self.meta["content_type"] or "")

    def content(self) -> bytes:
        """The bytes without their content encoding."""
        raw = self.path.read_bytes()
        return gzip.decompress(raw) if self.meta.get("content_encoding") == "gzip" else raw


@dataclass(frozen=True)
class Capture:
    """One folder: what an SDK sent while an agent ran, and what really happened."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def bodies(self) -> list[Body]:
        return [Body(path) for path in sorted(self.folder.glob("raw-*.bin"))]

    @property
    def spans(self) -> list[dict[str, Any]]:
        return read_json(self.folder / "spans.json")


def captures(part: str) -> list[Capture]:
    """All of ``corpus`` or ``joined``, by name."""
    return [Capture(folder) for folder in sorted((DATA / part).iterdir()) if (folder / "spans.json").exists()]


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())
