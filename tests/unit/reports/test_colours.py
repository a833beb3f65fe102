"""Paper and mail have the light theme's colours."""

from __future__ import annotations

import re
from pathlib import Path

from dashboard.reports.forms.colours import COLOURS

TOKENS = Path(__file__).parents[3] / "static/css/tokens.css"


def test_they_are_those_of_the_light_theme() -> None:
    light = TOKENS.read_text(encoding="utf-8").partition("@media")[0]
    told = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", light))
    assert {name: told[name] for name in COLOURS} == COLOURS
