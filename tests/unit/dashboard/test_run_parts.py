"""What the run page says in two places must be one thing: colours of its picture, words of its warnings."""

from __future__ import annotations

import re
from pathlib import Path

from dashboard.pages.parts import bar, oddities
from dashboard.pages.parts.run_picture import FILLS, LEAST, picture
from dashboard.verdicts import judge
from tests.unit.dashboard.drawn import two_rounds

ROOT = Path(__file__).resolve().parents[3]


def test_a_picture_has_the_colours_of_the_light_theme() -> None:
    light = (ROOT / "static/css/tokens.css").read_text().partition("@media")[0]
    assert {stage: re.search(rf"--{bar.css_name(stage)}: *(#\w+)", light)[1] for stage in bar.ORDER} == FILLS  # type: ignore[index]


def test_the_blocks_of_a_picture_fill_its_width_and_can_all_be_seen() -> None:
    told = picture(two_rounds(), judge(two_rounds()))
    blocks = told["blocks"]
    assert blocks[-1]["x"] + blocks[-1]["width"] + 1 == told["width"] - told["edge"]
    assert all(block["width"] >= LEAST - 1 for block in blocks)
    assert [cell["label"] for cell in told["cells"]] == list(bar.LABELS.values())


def test_every_warning_is_explained_as_in_the_docs() -> None:
    text = (ROOT / "docs/latency-model.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|$", text, re.MULTILINE)
    told = {code: re.sub(r" \(\[.*|`", "", does) for code, does in rows}
    assert told == oddities.EFFECTS
