"""How an alert stands, and what a verdict does to it.

```
            breached                     breached for `for`
   ok ──────────────────▶ pending ──────────────────────────▶ firing
    ▲       fine             │                                   │ fine for `keep firing`
    └────────────────────────┴───────────────────────────────────┘
```

From any of them, when nothing could be told for as long as the rule holds: ``no_data`` or ``error``. Until then a state
outlives silence, so an alert neither flaps nor is resolved because figures stopped coming. While anything comes at all,
though too little to tell, what fires goes on: a slow service that loses its traffic at night is not well again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from .rule import SECOND_NS, Rule, Silent
from .verdict import Outcome, Verdict


class State(StrEnum):
    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"
    NO_DATA = "no_data"
    ERROR = "error"


class Cause(StrEnum):
    """Why an alert fires."""

    BREACH = "breach"
    NO_DATA = "no_data"
    ERROR = "error"


class End(StrEnum):
    """Why a firing ended."""

    RECOVERED = "recovered"
    NO_DATA = "no_data"
    RULE_CHANGED = "rule_changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Nanoseconds. ``longest_gap_ns``: after a longer one between two evaluations, waiting begins anew."""

    for_ns: int
    keep_ns: int
    hold_ns: int
    longest_gap_ns: int
    no_data: Silent = Silent.QUIET
    error: Silent = Silent.QUIET


def timing_of(rule: Rule) -> Timing:
    return Timing(
        for_ns=rule.for_s * SECOND_NS, keep_ns=rule.keep_s * SECOND_NS, hold_ns=rule.hold_ns,
        longest_gap_ns=max(3 * rule.every_s, 300) * SECOND_NS, no_data=rule.no_data, error=rule.error,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``breached_ns`` since when it is breached without a break, ``last_breach_ns`` when it last was; ``untold_ns``
    since when nothing could be told; ``seen_ns`` the last evaluation."""

    state: State = State.OK
    since_ns: int = 0
    seen_ns: int = 0
    breached_ns: int | None = None
    last_breach_ns: int | None = None
    untold_ns: int | None = None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    at_ns: int
    since_ns: int
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    at_ns: int
    end: End


Moved = Fired | Resolved | None


def move(before: Standing, verdict: Verdict, now_ns: int, timing: Timing) -> tuple[Standing, Moved]:
    """What a verdict of an instant does. Instants that were seen already, or lie before, do nothing."""
    if before.seen_ns and now_ns <= before.seen_ns:
        return before, None
    gap = before.seen_ns and now_ns - before.seen_ns > timing.longest_gap_ns
    now = replace(before, seen_ns=now_ns, since_ns=before.since_ns or now_ns)
    if gap:
        now = _anew(now, now_ns)
    if verdict.outcome is Outcome.HELD:
        return now, None
    if verdict.outcome is Outcome.BREACHED:
        return _breached(now, now_ns, timing)
    if verdict.outcome is Outcome.FINE:
        return _fine(now, now_ns, timing)
    return _untold(now, verdict.outcome, now_ns, timing)


def _anew(now: Standing, now_ns: int) -> Standing:
    """Nobody looked for long: what was waited for must be waited for again."""
    if now.state is State.PENDING:
        return replace(now, since_ns=now_ns, breached_ns=None, untold_ns=None)
    return replace(now, untold_ns=None, last_breach_ns=now_ns if now.state is State.FIRING else now.last_breach_ns)


def _breached(now: Standing, now_ns: int, timing: Timing) -> tuple[Standing, Moved]:
    since = now_ns if now.breached_ns is None else now.breached_ns
    now = replace(now, breached_ns=since, last_breach_ns=now_ns, untold_ns=None)
    if now.state is State.FIRING:
        return replace(now, cause=Cause.BREACH), None
    if now_ns - since >= timing.for_ns:
        return _fire(now, now_ns, since, Cause.BREACH)
    return _turn(now, State.PENDING, since), None


def _fine(now: Standing, now_ns: int, timing: Timing) -> tuple[Standing, Moved]:
    if now.breached_ns is not None or now.untold_ns is not None:
        now = replace(now, breached_ns=None, untold_ns=None)
    if now.state is State.FIRING:
        if now.cause is Cause.BREACH and now_ns - (now.last_breach_ns or 0) < timing.keep_ns:
            return now, None
        return _resolve(now, State.OK, now_ns, End.RECOVERED)
    return _turn(now, State.OK, now_ns), None


def _untold(now: Standing, outcome: Outcome, now_ns: int, timing: Timing) -> tuple[Standing, Moved]:
    since = now_ns if now.untold_ns is None else now.untold_ns
    now = replace(now, untold_ns=since)
    if now_ns - since < timing.hold_ns:
        return now, None
    if outcome is Outcome.FEW and now.state is State.FIRING:
        return replace(now, untold_ns=None), None
    is_error = outcome is Outcome.ERROR
    if (timing.error if is_error else timing.no_data) is Silent.ALERT:
        cause = Cause.ERROR if is_error else Cause.NO_DATA
        if now.state is State.FIRING:
            return replace(now, cause=cause), None
        return _fire(now, now_ns, since, cause)
    if is_error:  # a rule that cannot be evaluated resolves nothing
        return (now, None) if now.state is State.FIRING else (_turn(now, State.ERROR, now_ns), None)
    now = replace(now, breached_ns=None)
    if now.state is State.FIRING:
        return _resolve(now, State.NO_DATA, now_ns, End.NO_DATA)
    return _turn(now, State.NO_DATA, now_ns), None


def _turn(now: Standing, state: State, since_ns: int) -> Standing:
    return now if now.state is state else replace(now, state=state, since_ns=since_ns, cause=None)


def _fire(now: Standing, now_ns: int, since_ns: int, cause: Cause) -> tuple[Standing, Moved]:
    fired = replace(now, state=State.FIRING, since_ns=now_ns, cause=cause)
    return fired, Fired(at_ns=now_ns, since_ns=since_ns, cause=cause)


def _resolve(now: Standing, state: State, now_ns: int, end: End) -> tuple[Standing, Moved]:
    quiet = replace(now, state=state, since_ns=now_ns, cause=None, breached_ns=None)
    return quiet, Resolved(at_ns=now_ns, end=end)
