"""Page, API and CSV tell the same digits for the same filter and range: on days of every length, in zones that are off
by half an hour too."""

from __future__ import annotations

import csv
import datetime as dt
import io
import random
import re
import time
from html import unescape
from itertools import cycle
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from dashboard.figures import count, duration, percent, share_of
from ingest.models import Project
from ingest.rollups.folding import count_all, fold
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep

pytestmark = pytest.mark.django_db

HOUR_NS = 3600 * SECOND_NS
# A zone, a day of its clocks, and how many half-hours that day has.
DAYS = [
    ("Asia/Kolkata", dt.date(2025, 10, 20), 48),
    ("Australia/Lord_Howe", dt.date(2025, 10, 5), 47),  # its clocks go by half an hour
    ("Australia/Lord_Howe", dt.date(2025, 4, 6), 49),
    ("America/St_Johns", dt.date(2025, 11, 2), 50),
    ("America/St_Johns", dt.date(2025, 3, 9), 46),
]
QUERIES = ["", "service:shop,desk -status:error", "wall>2s stage.decode>5%"]


def midnight_ns(zone: str, day: dt.date) -> int:
    return int(dt.datetime.combine(day, dt.time(), ZoneInfo(zone)).timestamp()) * SECOND_NS


@pytest.fixture
def days(db: None) -> None:
    """Runs on each of the days, on both of its borders, around its change of clocks, and on the days beside it."""
    project = Project.objects.create(slug="alpha", name="Alpha")
    chance = random.Random(11)
    runs = []
    for number, (zone, day, halves) in enumerate(DAYS):
        begins_ns = midnight_ns(zone, day)
        ends_ns = begins_ns + halves * HOUR_NS // 2
        at = [begins_ns - 1, begins_ns, ends_ns - 1, ends_ns]
        at += [begins_ns + chance.randint(0, 4 * HOUR_NS) for _ in range(16)]
        at += [chance.randint(begins_ns - 6 * HOUR_NS, ends_ns + 6 * HOUR_NS) for _ in range(20)]
        runs += [drawn(chance, number * 100 + i, end_ns, root_ended=True) for i, end_ns in enumerate(at)]
    keep(project, runs[:120])
    count_all()
    fold()
    keep(project, runs[120:])


def all_runs(client: Client, asked: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        told = client.get("/api/v1/runs", {**asked, "limit": 20} | ({"cursor": cursor} if cursor else {})).json()
        found += told["runs"]
        if (cursor := told["next_cursor"]) is None:
            return found


def lines(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.decode())))


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html)).strip()


def cells(page: str, column: str) -> list[str]:
    return [text_of(cell) for cell in re.findall(rf'<td class="[^"]*k-{column}">(.*?)</td>', page)]


def test_a_day_of_runs_whatever_its_length(days: None, client: Client) -> None:
    for (zone, day, halves), query in zip(DAYS, cycle(QUERIES), strict=False):
        the_same(client, zone, day, halves, query)


def the_same(client: Client, zone: str, day: dt.date, halves: int, query: str) -> None:
    begins_ns, after = midnight_ns(zone, day), day + dt.timedelta(days=1)
    assert midnight_ns(zone, after) - begins_ns == halves * HOUR_NS // 2
    asked = {"from": begins_ns, "to": midnight_ns(zone, after), "q": query}
    typed = {"from": f"{day}", "to": f"{after}", "zone": zone, "q": query}  # as somebody writes it into the page
    told = all_runs(client, asked)
    assert told

    columns = "ended,run,wall,ttft,hit,tokens,stages,prefill,queue"
    page = client.get("/runs", {**typed, "columns": columns}).content.decode()
    walls = [f"{run['wall_ns']}" for run in told]
    assert re.findall(r'data-wall-ns="(\d+)"', page) == walls
    assert re.findall(r'<td class="soft k-ended"><time [^>]*data-ns="(\d+)"', page) == [
        run["end_unix_ns"] for run in told
    ]
    assert cells(page, "wall") == [str(duration(run["wall_ns"])) for run in told]
    assert cells(page, "ttft") == [str(duration(run["ttft_ns"])) for run in told]
    assert cells(page, "prefill") == [str(duration(run["stages_ns"]["prefill"])) for run in told]
    assert cells(page, "queue") == [str(duration(run["outside_ns"]["queue"])) for run in told]
    assert cells(page, "hit") == [str(percent(share_of(run["cached_tokens"], run["input_tokens"]))) for run in told]
    assert cells(page, "tokens") == [str(count(run["input_tokens"])) for run in told]

    exported = client.get("/runs/export", {**typed, "form": "csv"}).content
    assert exported == client.get("/api/v1/runs.csv", {**asked, "limit": 500}).content
    assert [(line["run_id"], line["wall_ns"], line["stages_ns.prefill"]) for line in lines(exported)] == [
        (run["run_id"], str(run["wall_ns"]), str(run["stages_ns"]["prefill"])) for run in told
    ]

    summary = client.get("/api/v1/summary", {**asked, "step": "day", "zone": zone}).json()
    runs = summary["total"]["runs"]
    assert len(summary["steps"]) == 1  # that day, however long it is
    assert summary["steps"][0]["total"] == summary["total"]
    assert re.search(r'<div class="results-head"><span><b>(\d+) runs?</b>', page)[1] == str(runs["count"])  # type: ignore[index]
    assert runs["count"] == len(told)
    assert runs["totals_ns"]["prefill"] == sum(run["stages_ns"]["prefill"] for run in told)
    total = lines(client.get("/api/v1/summary.csv", asked).content)[0]
    assert (total["runs.count"], total["runs.wall.p95_ns"]) == (str(runs["count"]), str(runs["wall"]["p95_ns"]))
    assert [total[f"runs.totals_ns.{owner}"] for owner in runs["totals_ns"]] == [
        str(ns) for ns in runs["totals_ns"].values()
    ]


def test_live_tells_what_the_summary_tells(db: None, client: Client) -> None:
    project, chance, now_ns = Project.objects.create(slug="alpha", name="Alpha"), random.Random(5), time.time_ns()
    ends_ns = [now_ns - chance.randint(30, 200) * SECOND_NS for _ in range(60)]  # all within whichever five minutes
    keep(project, [drawn(chance, i, end_ns, root_ended=True) for i, end_ns in enumerate(ends_ns)])
    asked = {"from": now_ns - 290 * SECOND_NS, "to": now_ns}
    for zone in ("Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns"):
        page = client.get("/live", {"range": "15m", "zone": zone}).content.decode()
        tiles_tell(page, client.get("/api/v1/summary", {**asked, "zone": zone}).json()["total"])


def tiles_tell(page: str, summary: Any) -> None:
    def kpi(key: str) -> tuple[str, list[str]]:
        tile = page[page.index(f'id="kpi-{key}"') :].partition("<svg")[0]
        value, sides = re.search(
            r'kpi-value">(.*?)</div>\s*<div class="kpi-sides">(.*?)</div>', tile, re.DOTALL
        ).groups()  # type: ignore[union-attr]
        return text_of(value), [
            text_of(side) for side in re.findall(r"<span><i>.*?</i>(.*?)</span>(?=<span>|$)", sides)
        ]

    for key, spread in (
        ("wall", summary["runs"]["wall"]),
        *((k, summary["calls"][k]) for k in ("ttft", "tpot", "queue")),
    ):
        assert kpi(key) == (
            str(duration(spread["p95_ns"])), [str(duration(spread["p50_ns"])), str(duration(spread["p99_ns"]))]
        ), key  # fmt: skip
    assert kpi("runs")[1] == [str(count(summary["runs"]["count"]))]
    assert kpi("errors")[0] == str(percent(share_of(summary["runs"]["failed"], summary["runs"]["count"])))
    assert kpi("tool_failures")[0] == str(percent(share_of(summary["tools"]["failed"], summary["tools"]["count"])))
