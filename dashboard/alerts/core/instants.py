"""When a rule is looked at: whole multiples of its interval, each once, however late."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

from .rule import SECOND_NS, Rule

DELAY_NS = 20 * SECOND_NS  # after which what ended in a window has come, been decomposed and settled
MOST_INSTANTS = 1_440  # of a downtime, the last day at a minute each
MOST_OF_ENGINES = 60
AHEAD_NS = 3_600 * SECOND_NS
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def due_instants(rule: Rule, evaluated_ns: int, until_ns: int) -> list[int]:
    """Instants after the last that was evaluated, up to ``until_ns``; the newest ones where there are too many."""
    every_ns = rule.every_s * SECOND_NS
    last = until_ns // every_ns * every_ns
    most = MOST_OF_ENGINES if rule.what.source == "engine" else MOST_INSTANTS
    first = max((evaluated_ns // every_ns + 1) * every_ns, last - (most - 1) * every_ns)
    return list(range(first, last + 1, every_ns))


def next_due_ns(rule: Rule, evaluated_ns: int) -> int:
    """When there is an instant to be evaluated again."""
    every_ns = rule.every_s * SECOND_NS
    return (evaluated_ns // every_ns + 1) * every_ns + DELAY_NS


def was_away(rule: Rule, ran_ns: int, now_ns: int) -> bool:
    """Whether evaluation paused for so long that this instance must have been down."""
    return ran_ns > 0 and now_ns - ran_ns > max(3 * rule.every_s, 300) * SECOND_NS


def week_before(at_ns: int, zone: ZoneInfo) -> int:
    """The same time by the zone's clock seven days before: 167 or 169 hours where clocks changed meanwhile."""
    seconds, rest = divmod(at_ns, SECOND_NS)
    local = (_EPOCH + dt.timedelta(seconds=seconds)).astimezone(zone)
    then = (local.replace(tzinfo=None) - dt.timedelta(days=7)).replace(tzinfo=zone, fold=local.fold)
    return round((then.astimezone(dt.UTC) - _EPOCH).total_seconds()) * SECOND_NS + rest


