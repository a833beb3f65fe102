"""What a query can ask for. One entry a field: how it is read, where it is stored, what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ingest.packed import OWNERS
from ingest.read.query.terms import ATTRIBUTE, Unit
from ingest.rollups.errors import KINDS
from ingest.rows import models_sql, tools_sql


class Kind(StrEnum):
    TEXT = "text"
    LIST = "list"  # a run has several
    CHOICE = "choice"  # one of a closed set
    ERROR = "error"
    ID = "id"
    AMOUNT = "amount"
    ATTRIBUTE = "attribute"  # of any of its spans, by a name of the sender's


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """``column`` is SQL over a run's row. ``units`` are those in which an amount may be given, ``choices`` the values
    of a closed set, ``examples`` amounts worth offering."""

    name: str
    kind: Kind
    column: str
    says: str
    units: tuple[Unit, ...] = ()
    choices: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


STAGES = tuple(owner.value for owner in OWNERS)
STATUSES = ("ok", "error", "open")


def _text(name: str, column: str, says: str, kind: Kind = Kind.TEXT) -> Field:
    return Field(name=name, kind=kind, column=column, says=says)


def _amount(name: str, column: str, says: str, examples: tuple[str, ...], *units: Unit) -> Field:
    return Field(name=name, kind=Kind.AMOUNT, column=column, says=says, units=units, examples=examples)


_ALL = (
    _text("service", "service", "service that ran it"),
    _text("agent", "agent", "name of the agent"),
    _text("model", models_sql("ingest_run"), "model that any of its calls used", Kind.LIST),
    _text("tool", tools_sql("ingest_run"), "tool that it asked for", Kind.LIST),
    _text("engine", "engine", "engine that served it"),
    _text("environment", "environment", "deployment environment"),
    _text("version", "version", "version of the service"),
    _text("session", "session_id", "conversation"),
    _text("user", "user_id", "user whom it ran for"),
    _text("name", "name", "name of the run"),
    Field(name="status", kind=Kind.CHOICE, column="failed", says="ok, error, or open while in flight",
          choices=STATUSES),
    Field(name="error", kind=Kind.ERROR, column="error", says="kind of error, or text in it", choices=KINDS),
    Field(name="costliest", kind=Kind.CHOICE, column="", says="stage or outside time that took most", choices=STAGES),
    _text("trace", "trace_id", "trace id or its beginning, in hex", Kind.ID),
    _amount("wall", "wall_ns", "wall time", ("1s", "5s", "20s", "1min"), Unit.NS),
    *(
        _amount(f"stage.{stage}", f"{stage}_ns", f"time or share of {stage.replace('_', ' ')}",
                ("20%", "50%", "1s", "5s"), Unit.NS, Unit.SHARE)
        for stage in STAGES
    ),
    _amount("ttft", "ttft_ns", "time to the first token of its answer", ("1s", "3s"), Unit.NS),
    _amount("first_token", "first_token_ns", "time to its first visible token", ("1s", "3s"), Unit.NS),
    _amount("ttft_sum", "ttft_sum_ns", "first-token times of all its calls together, or their share of the wall",
            ("2s", "30%"), Unit.NS, Unit.SHARE),
    _amount("rounds", "rounds", "rounds of a model call and its tools", ("3", "8"), Unit.COUNT),
    _amount("tools", "tool_count", "tool calls", ("1", "10"), Unit.COUNT),
    _amount("tool_failures", "tool_failures", "tool calls that failed", ("0",), Unit.COUNT),
    _amount("warnings", "warning_count", "what was odd about its spans", ("0",), Unit.COUNT),
    _amount("spans", "spans", "spans", ("100",), Unit.COUNT),
    _amount("tokens.in", "input_tokens", "prompt tokens", ("10k", "50k"), Unit.COUNT),
    _amount("tokens.cached", "cached_tokens", "prompt tokens that came from the cache", ("10k",), Unit.COUNT),
    _amount("tokens.out", "output_tokens", "tokens written", ("1k",), Unit.COUNT),
    _amount("cache", "", "share of prompt tokens that came from the cache", ("30%", "80%"), Unit.SHARE),
    _amount("cost", "", "cost by the prices in Settings, in their currency", ("0.01", "0.1"), Unit.MONEY),
)  # fmt: skip

FIELDS: Mapping[str, Field] = {field.name: field for field in _ALL}
ALIASES = {"env": "environment", "duration": "wall", "tokens": "tokens.in", "hit": "cache"}


def find_field(told: str) -> Field | None:
    """By its name as people write it: dashes are underscores, and a stage may stand without ``stage.``. What stands
    after ``attr.`` is an attribute's own name, letter by letter."""
    if told.lower().startswith(ATTRIBUTE) and len(told) > len(ATTRIBUTE):
        name = ATTRIBUTE + told[len(ATTRIBUTE) :]
        return Field(name=name, kind=Kind.ATTRIBUTE, column="", says="attribute of its spans", units=(Unit.COUNT,))
    name = told.lower().replace("-", "_")
    name = ALIASES.get(name, name)
    return FIELDS.get(name) or FIELDS.get(f"stage.{name}")
