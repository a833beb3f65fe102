"""Full resolution for two days, then by minute; what happened around breaks stays."""

from __future__ import annotations

import datetime as dt
from array import array

import pytest
from django.db import connection

from ingest.engines.keeping import thin_out
from ingest.engines.kept import fold, unfold
from ingest.engines.layout import Key, make_layout
from ingest.models import EngineLayout, EngineMinute, EngineSample, EngineTarget, Project
from ingest.partitions import ensure_partitions
from ingest.read.engines import read_series
from ingest.scope import Scope

pytestmark = pytest.mark.django_db

NS = 10**9
DAY = dt.date(2098, 3, 1)
MIDNIGHT_NS = int(dt.datetime(2098, 3, 1, tzinfo=dt.UTC).timestamp()) * NS
LAYOUT = make_layout("vllm", [(Key("generation_tokens", "m"), ()), (Key("running", "m"), ())])


@pytest.fixture
def target(db: None) -> EngineTarget:
    project = Project.objects.create(slug="alpha", name="Alpha")
    return EngineTarget.objects.create(project=project, name="a", url="http://10.0.0.1/", interval_ms=5_000)


def keep(target: EngineTarget, at_s: int, tokens: float, stretch: int = 1, breaks: str = "") -> None:
    layout, _ = EngineLayout.objects.get_or_create(digest=LAYOUT.digest, defaults={"body": LAYOUT.as_json()})
    values = array("d", [0.0] * LAYOUT.width)
    for slot in LAYOUT.slots:
        values[slot.at] = tokens if slot.key.metric == "generation_tokens" else 1.0
    EngineSample.objects.create(
        at_unix_ns=MIDNIGHT_NS + at_s * NS, day=DAY, project_id=target.project_id, target_id=target.pk,
        layout_id=layout.pk, stretch=stretch, took_ms=1, running=1.0, waiting=None, kv_usage=None, breaks=breaks,
        body=fold(values),
    )  # fmt: skip


def counted(target: EngineTarget, until_s: int) -> list[float | None]:
    scope, until_ns = Scope(project_id=target.project_id), MIDNIGHT_NS + until_s * NS
    found = read_series(scope, target.pk, ["generation_tokens"], MIDNIGHT_NS, until_ns, 60)
    assert found
    (series,) = found
    return [point.values.get("count") for point in series.points]


def test_what_is_kept_by_minute_counts_the_same(target: EngineTarget) -> None:
    ensure_partitions(MIDNIGHT_NS)
    for number in range(60):  # five minutes, ten tokens a scrape; a restart after 200 s
        at_s = number * 5
        restarted = at_s >= 200
        tokens = (number - 40) * 10 + 3 if restarted else number * 10
        keep(target, at_s, tokens, 2 if restarted else 1, "reset" if at_s == 200 else "first" if not number else "")
    before = counted(target, 300)
    assert before == [110, 120, 120, 40 + 3 + 70, 120]

    done = "ingest_engine_sample_20980301"
    assert done not in thin_out(MIDNIGHT_NS + 2 * 86_400 * NS)
    assert done in thin_out(MIDNIGHT_NS + 3 * 86_400 * NS)
    assert counted(target, 300) == before
    assert EngineMinute.objects.filter(target_id=target.pk).count() == 8
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [done])
        assert cursor.fetchone() == (None,)


def test_numbers_are_kept_exactly() -> None:
    values = array("d", [0.0, -0.0, 1 / 3, float("inf"), 1.79597526055e9, float("nan")])
    assert unfold(fold(values)).tobytes() == values.tobytes()
