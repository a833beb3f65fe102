"""Pages of real servers as samples, and the same pages read by another hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from ingest.engines.differences import Sample
from ingest.engines.pages import read_page
from tests.captures import DATA, read_json

SNAPSHOTS = DATA / "engines" / "snapshots"
JOINED = DATA / "joined" / "metrics"
RUNS = ("run1_tiny_http", "run2_small_grpc", "run3_tiny_ngram", "run4_tiny_preempt")
Where = Callable[[dict[str, str]], bool]


def every_page() -> list[Path]:
    return [*sorted(SNAPSHOTS.glob("*.prom")), *sorted(JOINED.glob("*.prom"))]


@cache
def scrapes(run: str) -> list[tuple[str, Sample]]:
    """A run's pages in the order of time, by file name."""
    return [
        (told["file"], sample(SNAPSHOTS / told["file"], round(told["wall_end"] * 1e9)))
        for told in read_json(SNAPSHOTS / f"index_{run}.json")
    ]


@cache
def joined_scrapes() -> list[tuple[str, Sample]]:
    """The session of the joined captures: those pages that were kept."""
    return [
        (told["file"], sample(JOINED / told["file"], told["end_ns"]))
        for told in read_json(JOINED / "index.json")
        if told["file"] and (JOINED / told["file"]).exists()
    ]


def sample(path: Path, at_unix_ns: int) -> Sample:
    reading = read_page(path.read_bytes(), target=str(path.parent))
    return Sample(at_unix_ns=at_unix_ns, layout=reading.layout, values=reading.values)


def pairs(run: str) -> Iterator[tuple[str, Sample, str, Sample]]:
    """Every pair of pages, the earlier first."""
    for (name, before), (other, after) in combinations(scrapes(run), 2):
        yield name, before, other, after


@cache
def by_hand(name: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """What a page says, as the reference parser reads it: labels and value by sample name."""
    folder = SNAPSHOTS if name.startswith("run") else JOINED
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families((folder / name).read_text()):
        for one in family.samples:
            found.setdefault(one.name, []).append((one.labels, one.value))
    return found


def told(name: str, metric: str, where: Where = lambda _: True) -> float:
    return sum(value for labels, value in by_hand(name).get(metric, []) if where(labels))
