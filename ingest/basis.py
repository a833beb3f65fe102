"""What estimates rest on: how fast the same model wrote in other calls of the same service around that time.

Asked for only where a call needs it, and kept with its run, so that the same spans give the same figures again.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from psycopg.types.json import JsonbLoader

from ingest.engine_basis import engine_bases
from ingest.packed import SOURCES
from ingest.rollups.bins import bin_sql, quantile
from ingest.rows import called_model_sql, models_sql, of_run_sql
from ingest.stages.estimate import Basis, BasisKey, wants_estimate
from ingest.stages.model import Decomposition, Source

WINDOW_NS = 3_600 * 10**9
# Calls whose ends lie within one step share a look.
STEP_NS = 10 * 10**9
# A look reads no more than this many runs, of whatever service: its price is bounded, and they are the nearest in time.
LATEST_RUNS = 500
# The time between so few tokens is mostly the network's.
MIN_OUTPUT_TOKENS = 8
LONGEST_NAME = 200
MEASURED = [SOURCES.index(Source.ENGINE), SOURCES.index(Source.CLIENT)]

READ_STORED = """
    SELECT run.trace_id, run.project_id, run.basis
    FROM unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(days)s::date[]) AS wanted (trace_id, project_id, day)
    JOIN ingest_run AS run USING (trace_id, project_id, day)
    WHERE run.basis IS NOT NULL ORDER BY run.start_unix_ns DESC, run.root_span_id
"""
MEASURE = f"""
    SELECT wanted.project_id, wanted.until_ns, run.service, {called_model_sql("call", "run")}, call.engine,
           {bin_sql("call.tpot_ns")} AS bin, count(*)
    FROM unnest(%(project_ids)s::int[], %(until_ns)s::bigint[]) AS wanted (project_id, until_ns)
    CROSS JOIN LATERAL (
        SELECT run.trace_id, run.root_span_id, run.day, run.service, run.model, run.model_names FROM ingest_run AS run
        WHERE run.project_id = wanted.project_id AND run.day >= %(since_day)s
          AND run.end_unix_ns <= wanted.until_ns AND run.end_unix_ns > wanted.until_ns - %(window_ns)s
        ORDER BY run.end_unix_ns DESC LIMIT %(latest)s
    ) AS run
    JOIN ingest_call AS call ON call.trace_id = run.trace_id AND {of_run_sql("call", "run")}
                            AND call.project_id = wanted.project_id AND call.day = run.day
    WHERE run.service = ANY(%(services)s) AND {models_sql("run")} && %(models)s::text[]
      AND {called_model_sql("call", "run")} = ANY(%(models)s)
      AND call.source = ANY(%(measured)s) AND call.tpot_ns > 0 AND call.output_tokens >= %(min_tokens)s
      AND call.attempts = 1 AND call.error IS NULL
    GROUP BY 1, 2, 3, 4, 5, 6
"""

Place = tuple[bytes, int]  # trace id, project
Answers = dict[BasisKey, Basis | None]


@dataclass(frozen=True, slots=True)
class Question:
    """A trace's call that a basis might help. ``until_ns`` is where the window of its measured calls ends."""

    project_id: int
    day: dt.date
    key: BasisKey
    until_ns: int


def questions(decomposition: Decomposition, project_id: int, day: dt.date) -> dict[BasisKey, Question]:
    """What the trace's calls of unknown split need; one question for all calls alike, at the end of the last."""
    asked: dict[BasisKey, Question] = {}
    for run in decomposition.runs:
        for call in run.calls:
            if wants_estimate(call) and run.service and call.model:
                key = BasisKey(run.service, call.model, call.engine)
                until_ns = ((call.start_unix_ns + call.wall_ns) // STEP_NS + 1) * STEP_NS
                known = asked.get(key)
                if all(map(_is_sound, key)) and until_ns < 2**63 and (known is None or known.until_ns < until_ns):
                    asked[key] = Question(project_id, day, key, until_ns)
    return asked


def _is_sound(name: str | None) -> bool:
    """Whether the database can compare it: what cannot be stored as it is has no measured calls either."""
    return name is None or (len(name) <= LONGEST_NAME and name.isprintable())


def answer(asked: Sequence[tuple[Place, dt.date, Mapping[BasisKey, Question]]]) -> list[Answers]:
    """Each trace's answers, by what its runs had before, else as measured now."""
    stored = read_stored([(*place, day) for place, day, _ in asked])
    known = [
        {key: told for key, told in stored.get(place, {}).items() if key in questions} for place, _, questions in asked
    ]
    pairs = list(zip(known, (questions for _, _, questions in asked), strict=True))
    measured = measure(asks for had, questions in pairs for key, asks in questions.items() if key not in had)
    return [{key: had[key] if key in had else measured.get(asks) for key, asks in questions.items()}
            for had, questions in pairs]  # fmt: skip


def read_stored(places: Sequence[tuple[bytes, int, dt.date]]) -> dict[Place, Answers]:
    """What these traces' runs were estimated by before. None is an answer too: there was no basis."""
    stored: dict[Place, Answers] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.adapters.register_loader("jsonb", JsonbLoader)  # which Django leaves to its models
        arrays = {"trace_ids": [t for t, _, _ in places], "project_ids": [p for _, p, _ in places]}
        cursor.execute(READ_STORED, arrays | {"days": [day for _, _, day in places]})
        for trace_id, project_id, detail in cursor.fetchall():
            stored[bytes(trace_id), project_id] |= _from_detail(detail)
    return stored


def measure(asked: Iterable[Question]) -> dict[Question, Basis]:
    """The basis of each question that has one; few calls make one too, told as such."""
    asked = list(asked)
    if not asked:
        return {}
    looks = sorted({(question.project_id, question.until_ns) for question in asked})
    told: dict[tuple[int, int, str, str], dict[str | None, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    with connection.cursor() as cursor:
        cursor.execute(
            MEASURE,
            {
                "project_ids": [project_id for project_id, _ in looks], "until_ns": [until for _, until in looks],
                "since_day": min(question.day for question in asked) - dt.timedelta(days=1), "window_ns": WINDOW_NS,
                "services": sorted({question.key.service for question in asked}), "latest": LATEST_RUNS,
                "models": sorted({question.key.model for question in asked}), "measured": MEASURED,
                "min_tokens": MIN_OUTPUT_TOKENS,
            },
        )  # fmt: skip
        for project_id, until_ns, service, model, engine, index, count in cursor.fetchall():
            told[project_id, until_ns, service, model][engine][index] += count
    found = {q: _basis(told.get((q.project_id, q.until_ns, q.key.service, q.key.model), {}), q.key) for q in asked}
    engines = engine_bases(q for q, basis in found.items() if basis is None or not basis.is_enough)
    return {question: basis for question, basis in (found | engines).items() if basis is not None}


def _basis(by_engine: Mapping[str | None, Counter[int]], key: BasisKey) -> Basis | None:
    """From the calls on the same engine; for a call that names none, from all, unless they name several."""
    if key.engine is not None:
        bins = by_engine.get(key.engine, Counter())
    elif len([engine for engine in by_engine if engine is not None]) > 1:
        return None
    else:
        bins = sum(by_engine.values(), Counter())
    low, middle, high = (quantile(bins, share) for share in (0.25, 0.5, 0.75))
    if low is None or middle is None or high is None:
        return None
    return Basis(tpot_ns=middle, low_ns=low, high_ns=high, calls=bins.total())


def as_detail(answers: Answers, service: str | None) -> list[list[Any]]:
    """A run's part of the answers, as its row keeps them."""
    return [
        [*key, None if basis is None else [basis.tpot_ns, basis.low_ns, basis.high_ns, basis.calls]]
        for key, basis in sorted(answers.items(), key=lambda answer: tuple(map(str, answer[0])))
        if key.service == service
    ]


def _from_detail(rows: Iterable[Sequence[Any]]) -> Answers:
    return {
        BasisKey(service, model, engine): None
        if told is None
        else Basis(tpot_ns=told[0], low_ns=told[1], high_ns=told[2], calls=told[3])
        for service, model, engine, told in rows
    }
