"""What the model makes of every capture, as digests beside the number of its algorithm (tests/data/algorithm.json).

    python -m tests.tools.algorithm             write them anew, after a change that is meant to give other figures
    python -m tests.tools.algorithm --release   as a release is made: from now on a change needs a new number

Runs that are stored tell by which algorithm they were computed, so a released number must always mean the same figures.
Between two releases it is raised once, by the first change that gives others; those after it keep it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import django
from msgspec import to_builtins

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup()

from ingest.stages import ALGORITHM, Basis, BasisKey, Decomposition  # noqa: E402
from tests.captured_traces import decompositions_of  # noqa: E402
from tests.captures import DATA, captures, read_json  # noqa: E402

FILE = DATA / "algorithm.json"
RAISE = (
    "the figures have changed since algorithm {number} was released: raise ALGORITHM in ingest/stages/decompose.py, "
    "so that `manage.py recompute --outdated` finds what was computed before, and run this again"
)
Kept = dict[str, Any]


class EveryBasis(dict[BasisKey, Basis]):
    """The same basis for all calls: estimates are figures too."""

    def get(self, key: object, default: Any = None) -> Any:
        return Basis(tpot_ns=4_000_000, low_ns=3_900_000, high_ns=4_100_000, calls=9)

    def __bool__(self) -> bool:
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--release", action="store_true", help="the number is released with the figures that it now gives"
    )
    args = parser.parse_args()
    fault = write(FILE, digests(), ALGORITHM, args.release)
    if fault:
        sys.stderr.write(f"{fault}\n")
    return 1 if fault else 0


def digests() -> dict[str, str]:
    """A digest of each capture's figures, by `corpus/NAME` and `joined/NAME`."""
    return {
        f"{part}/{capture.name}": digest_of(decompositions_of(capture, EveryBasis()))
        for part in ("corpus", "joined")
        for capture in captures(part)
    }


def digest_of(decompositions: dict[str, Decomposition]) -> str:
    """Of all figures, names and warnings' codes. A warning's wording is none of them."""
    told = {trace_id: _without_wording(to_builtins(one)) for trace_id, one in decompositions.items()}
    return hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()


def _without_wording(told: Any) -> Any:
    for warnings in (told["warnings"], *(run["warnings"] for run in told["runs"])):
        for warning in warnings:
            del warning["text"]
    return told


def write(file: Path, now: dict[str, str], number: int, release: bool) -> str:
    """Keep the digests; returns why not, if they are not to be kept."""
    kept: Kept = read_json(file) if file.exists() else {"released": 0, "figures": {}}
    released: int = kept["released"]
    if changed(kept, now) and number <= released:
        return RAISE.format(number=number)
    told = {"algorithm": number, "released": number if release else released, "figures": now}
    file.write_text(json.dumps(told, indent=1) + "\n")
    return ""


def changed(kept: Kept, now: dict[str, str]) -> list[str]:
    """The captures whose figures are others than those that were kept. A capture that is new was never told of."""
    return [name for name, digest in kept["figures"].items() if now.get(name) != digest]


if __name__ == "__main__":
    sys.exit(main())
