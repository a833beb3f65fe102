"""What an instance tells of itself stands in docs/operate.md by its name."""

from __future__ import annotations

from pathlib import Path

from dashboard.pages.parts.refused import ADVICE
from ingest.observing import exposition, measures
from ingest.otlp import errors
from ingest.otlp.requests import CODES

OPERATE = (Path(__file__).resolve().parents[3] / "docs" / "operate.md").read_text()


def reasons() -> set[str]:
    refusals = {error.reason for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "reason")}
    return refusals | set(CODES.values()) | {"internal", "client_gone", "nothing_read"}


def test_every_metric_is_explained() -> None:
    names = [family.name for family in measures.REGISTRY.collect()]
    names += [f"sixstage_{name}" for name, _ in (*exposition.SETTLED.values(), exposition.STAGES)]
    short = OPERATE.replace("`_spans_total`", "sixstage_decomposed_spans")
    assert [name for name in names if name not in short] == []


def test_every_reason_is_explained_and_has_advice() -> None:
    assert [reason for reason in sorted(reasons()) if f"`{reason}`" not in OPERATE] == []
    assert sorted(reasons() - ADVICE.keys()) == []
