"""Runs, calls and tools as table rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from zlib import crc32

import msgspec

from ingest.packed import OWNERS, SOURCE_INDEX, pack_detail, pack_summary
from ingest.stages.decompose import ALGORITHM
from ingest.stages.model import Outside, Run, Stage

BIGINT_MAX, SMALLINT_MAX = 2**63 - 1, 2**15 - 1
_STAGES, _OUTSIDE = tuple(Stage), tuple(Outside)

RUN_COLUMNS = (
    "start_unix_ns", "end_unix_ns", "wall_ns", "settles_unix_ns", *(f"{owner}_ns" for owner in OWNERS), "ttft_ns",
    "first_token_ns", "ttft_sum_ns", "input_tokens", "cached_tokens", "output_tokens", "day", "project_id", "rounds",
    "spans", "tool_count", "tool_failures", "warning_count", "algorithm", "root_ended", "failed", "trace_id",
    "root_span_id", "name", "service", "agent", "version", "environment", "session_id", "user_id", "model", "engine",
    "error", "tool_names", "model_names", "summary", "detail", "basis",
)  # fmt: skip
CALL_COLUMNS = (
    "start_unix_ns", "end_unix_ns", "queue_ns", "prefill_ns", "decode_ns", "ttft_ns", "tpot_ns", "day",
    "project_id", "input_tokens", "cached_tokens", "output_tokens", "response_hash", "round", "attempts", "scope",
    "source", "carries_tool_results", "streamed", "trace_id", "root_span_id", "span_id", "model", "engine", "error",
)  # fmt: skip
TOOL_COLUMNS = (
    "start_unix_ns", "end_unix_ns", "day", "project_id", "round", "attempts", "scope", "ok", "abandoned",
    "pseudo", "agent", "trace_id", "root_span_id", "span_id", "name", "error",
)  # fmt: skip

_BIGINT, _INTEGER, _SMALLINT, _BOOL, _BYTEA, _TEXT = "int8", "int4", "int2", "bool", "bytea", "text"
# Of the columns above. Rows are sent in PostgreSQL's binary format, which takes two thirds of the text format's CPU on
# both sides; it converts nothing.
RUN_TYPES = (
    *[_BIGINT] * 20, "date", *[_INTEGER] * 5, *[_SMALLINT] * 2, *[_BOOL] * 2, *[_BYTEA] * 2, *[_TEXT] * 11, "text[]",
    *[_BYTEA] * 2, "jsonb",
)  # fmt: skip
CALL_TYPES = (
    *[_BIGINT] * 7, "date", *[_INTEGER] * 6, *[_SMALLINT] * 3, *[_BOOL] * 2, *[_BYTEA] * 3, *[_TEXT] * 3,
)  # fmt: skip
TOOL_TYPES = (
    *[_BIGINT] * 2, "date", *[_INTEGER] * 2, *[_SMALLINT] * 2, *[_BOOL] * 4, *[_BYTEA] * 3, *[_TEXT] * 2,
)  # fmt: skip

# What most rows have in common with their run stands there alone, which saves 15 of 490 bytes a span: a run whose calls
# all used its model names no models, a call of that model has "" for it, and calls and tools of a trace's only run
# have no root. `called_model_sql`, `of_run_sql` and `models_sql` say it in queries.
AS_ITS_RUN = ""
# Of tools, so that most of their rows have no NULL, which takes eight bytes; those of 0.1 have it.
NO_ROOT, NO_ERROR = b"", ""
_BETWEEN_NAMES = "\x1f"

Row = tuple[Any, ...]


@dataclass(slots=True)
class Rows:
    """What is written together, by table."""

    runs: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    tools: list[Row] = field(default_factory=list)

    def add(
        self, run: Run, project_id: int, day: dt.date, settles_unix_ns: int, spans: int, basis: Sequence[Any] = (),
        *, is_only: bool = False,
    ) -> None:  # fmt: skip
        """``basis`` is what the run's estimates rest on, where it needed any; kept for when it is computed again.
        ``is_only``: its trace has no other."""
        trace_id, root_span_id = bytes.fromhex(run.trace_id), bytes.fromhex(run.root_span_id)
        of_root = None if is_only else root_span_id
        model = plain(run.model)
        names = _names(tuple([call.model for call in run.calls]))
        broken = run.breakdown
        stages_ns, outside_ns = broken.stages_ns, broken.outside_ns
        counted = [tool.ok for tool in run.tools if not tool.pseudo]
        self.runs.append((
            run.start_unix_ns, run.end_unix_ns, broken.wall_ns, settles_unix_ns,
            *[stages_ns[stage] for stage in _STAGES], *[outside_ns[outside] for outside in _OUTSIDE], run.ttft_ns,
            run.first_token_ns, run.ttft_sum_ns, fit(run.input_tokens), fit(run.cached_tokens),
            fit(run.output_tokens), day, project_id, run.rounds, spans, len(counted), counted.count(False),
            len(run.warnings), ALGORITHM, run.root_ended, run.status == "error", trace_id, root_span_id,
            plain(run.name), plain(run.service), plain(run.agent), plain(run.version), plain(run.environment),
            plain(run.session_id), plain(run.user_id), model, plain(run.engine), plain(run.error),
            _joined(tuple([tool.name for tool in run.tools])), None if names == _names((model,)) else names,
            pack_summary(broken), pack_detail(run), msgspec.to_builtins(basis) if basis else None,
        ))  # fmt: skip
        for call in run.calls:
            start, response_id = call.start_unix_ns, call.response_id
            self.calls.append((
                start, start + call.wall_ns, call.queue_ns, call.prefill_ns, call.decode_ns, call.ttft_ns,
                call.tpot_ns, day, project_id, _count(call.input_tokens), _count(call.cached_tokens),
                _count(call.output_tokens), response_hash(response_id) if response_id else None, call.round,
                min(call.attempts, SMALLINT_MAX), call.scope, SOURCE_INDEX[call.source], call.carries_tool_results,
                call.streamed, trace_id, of_root, bytes.fromhex(call.span_id), _model(call.model, model),
                plain(call.engine), plain(call.error),
            ))  # fmt: skip
        for tool in run.tools:
            start = tool.start_unix_ns
            self.tools.append((
                start, start + tool.wall_ns, day, project_id, tool.round, min(tool.attempts, SMALLINT_MAX),
                tool.scope, tool.ok, tool.abandoned, tool.pseudo, tool.agent, trace_id, of_root or NO_ROOT,
                bytes.fromhex(tool.span_id), plain(tool.name), plain(tool.error) or NO_ERROR,
            ))  # fmt: skip

    def copy(self, cursor: Any) -> None:
        """Into their tables, from which the traces' former rows have gone."""
        for table, columns, types, rows in (
            ("ingest_run", RUN_COLUMNS, RUN_TYPES, self.runs),
            ("ingest_call", CALL_COLUMNS, CALL_TYPES, self.calls),
            ("ingest_tool", TOOL_COLUMNS, TOOL_TYPES, self.tools),
        ):
            if rows:
                with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)") as copy:
                    copy.set_types(types)
                    for row in rows:
                        copy.write_row(row)


def models_sql(run: str) -> str:
    """The models that a run's calls used, as an array; ``run`` is its row's name in the query."""
    return f"coalesce({run}.model_names, array_remove(ARRAY[{run}.model], NULL))"


def called_model_sql(call: str, run: str) -> str:
    """A call's model, beside the row of its run."""
    return f"CASE {call}.model WHEN '{AS_ITS_RUN}' THEN {run}.model ELSE {call}.model END"


def of_run_sql(item: str, run: str) -> str:
    """Whether a call or tool is a run's, given that its trace is."""
    return f"coalesce(nullif({item}.root_span_id, ''), {run}.root_span_id) = {run}.root_span_id"


def tools_sql(run: str) -> str:
    """The names of a run's tools, as an array: stored as one takes 24 bytes more."""
    return f"string_to_array({run}.tool_names, '{_BETWEEN_NAMES}')"


def tool_names(stored: str) -> list[str]:
    """The names of a run's tools, from its row."""
    return stored.split(_BETWEEN_NAMES) if stored else []


def response_hash(response_id: str) -> int:
    """32 bits of a response's id, as PostgreSQL's signed integer: enough to find the few calls that may be meant."""
    return crc32(response_id.encode(errors="replace")) - (1 << 31)


def plain(text: str | None) -> str | None:
    """Text as PostgreSQL takes it: NUL becomes the replacement character."""
    return text.replace("\x00", "\ufffd") if text and "\x00" in text else text


def fit(number: int | None) -> int | None:
    """A number as bigint takes it. The kernel has flagged a time in the year 2554; here it is only cut."""
    return None if number is None else max(-BIGINT_MAX, min(BIGINT_MAX, number))


def _model(called: str | None, of_run: str | None) -> str | None:
    called = plain(called)
    return AS_ITS_RUN if called and called == of_run else called or None


def _count(number: int | None) -> int | None:
    """A token count as integer takes it; an absurd one is unknown."""
    return number if number is not None and -(2**31) <= number < 2**31 else None


@lru_cache(maxsize=4_096)
def _joined(names: tuple[str | None, ...]) -> str:
    """Each name once, as text."""
    clean = (str(plain(name)).replace(_BETWEEN_NAMES, "\ufffd") for name in names if name)
    return _BETWEEN_NAMES.join(dict.fromkeys(clean))


@lru_cache(maxsize=4_096)
def _names(names: tuple[str | None, ...]) -> list[str]:
    """Each name once. Nobody changes the list."""
    return list(dict.fromkeys(str(plain(name)) for name in names if name))
