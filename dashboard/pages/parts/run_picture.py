"""The head of a run as a picture: its wall time, the sentence, the stage bar and the ten figures.

A picture goes where no style sheet does, so the colours stand in it: those of the light theme (static/css/tokens.css;
a test compares them).
"""

from __future__ import annotations

import textwrap
from typing import Any

from dashboard.figures import exact, percent
from dashboard.pages.parts import bar, run_head
from dashboard.pages.parts.safetext import visible
from dashboard.verdicts import Verdict
from ingest.read.values import RunDetail

FILLS = {
    "prefill": "#23418f",
    "decode": "#12786b",
    "tool_parsing": "#7e2f16",
    "tool_execution": "#c3892e",
    "re_encoding": "#447fcb",
    "continue_decode": "#35a690",
    "queue": "#75557f",
    "transport": "#8596a5",
    "model_unsplit": "#aeafb2",
    "orchestration": "#cfcbbb",
}
WIDTH, EDGE, LEAST = 1200, 24, 2
LINE_CHARACTERS, LINES = 104, 4
NAME_CHARACTERS = 90


def picture(run: RunDetail, verdict: Verdict) -> dict[str, Any]:
    words = " ".join([verdict.headline.text, *(f.text for f in verdict.said)])
    lines = textwrap.wrap(visible(words), LINE_CHARACTERS, max_lines=LINES, placeholder=" …")
    top = 76 + 22 * len(lines)
    return {
        "width": WIDTH,
        "height": top + 152,
        "edge": EDGE,
        "run": run,
        "wall": exact(run.wall_ns),
        "name": textwrap.shorten(visible(f"{run.service or ''} {run.name}".strip()), NAME_CHARACTERS, placeholder=" …"),
        "lines": [(72 + 22 * at, line) for at, line in enumerate(lines)],
        "bar_top": top,
        "blocks": _blocks(run),
        "key_top": top + 68,
        "cells": _cells(run),
        "foot": top + 138,
    }


def _blocks(run: RunDetail) -> list[dict[str, Any]]:
    """Zero is not drawn; what is above it is at least two pixels wide, at the cost of the widest."""
    segments = bar.segments(run)
    room = WIDTH - 2 * EDGE
    widths = [max(LEAST, round(s.share * room)) for s in segments]
    if widths:
        widths[widths.index(max(widths))] += room - sum(widths)
    blocks, at = [], EDGE
    for segment, width in zip(segments, widths, strict=True):
        guess = max(4, round(width * segment.guessed)) if segment.guessed else 0
        blocks.append(
            {
                "x": at,
                "width": max(1, width - 1),
                "fill": FILLS[segment.stage],
                "guess": min(guess, width),
                "guess_x": at + width - min(guess, width),
            }
        )
        at += width
    return blocks


def _cells(run: RunDetail) -> list[dict[str, Any]]:
    """Two rows of five: label, exact figure, share and source."""
    step = (WIDTH - 2 * EDGE) / 5
    return [
        {
            "x": round(EDGE + at % 5 * step),
            "y": at // 5 * 36,
            "fill": FILLS[told["stage"]],
            "label": bar.LABELS[told["stage"]],
            "figure": told["figure"],
            "share": percent(told["share"]),
            "source": told["source"] or "",
        }
        for at, told in enumerate(run_head.split(run))
    ]
