"""docs/latency-model.md explains all that the model can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ingest.stages import Outside, Source, Stage
from ingest.stages.first_token import _WHY

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "latency-model.md").read_text()


def codes_in_source() -> Iterator[str]:
    """What is given to `warn`, or to an Oddity or a FirstToken as its code or doubt."""
    for file in [*(ROOT / "ingest" / "stages").glob("*.py"), *(ROOT / "ingest" / "semconv").glob("*.py")]:
        for call in ast.walk(ast.parse(file.read_text())):
            if not isinstance(call, ast.Call):
                continue
            given = [keyword.value for keyword in call.keywords if keyword.arg in ("code", "doubt")]
            if isinstance(call.func, ast.Attribute) and call.func.attr == "warn":
                given += call.args[:1]
            for value in given:
                yield from (
                    node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and node.value is not None
                )
    yield from _WHY


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_column(text: str) -> list[str]:
    return re.findall(r"^\| (?:\S )?`(\w+)` \|", text, re.MULTILINE)


def test_every_warning_is_explained_and_none_that_there_is_not() -> None:
    explained = first_column(section("Warnings"))
    assert sorted(explained) == sorted(set(codes_in_source()))


def test_every_source_stage_and_outside_time_is_explained() -> None:
    assert first_column(section("Where facts come from")) == list(Source)
    assert first_column(PAGE.partition("\n## ")[0]) == [*Stage, *Outside]


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert len(pictures) == 4
    assert all((ROOT / "docs" / picture).exists() for picture in pictures)
