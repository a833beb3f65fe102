"""Rules and objectives as they are written: in YAML, in the API, and as they are stored. What is left out is usual."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from .amounts import AmountRefused, read_duration, read_number, read_share, write_duration, write_share
from .measures import MEASURES, Measure, Shape, unit_of
from .rule import (
    FAST_AND_SLOW,
    SECOND_NS,
    Absence,
    Burn,
    Change,
    Condition,
    Pair,
    Rule,
    Severity,
    Silent,
    Slo,
    Threshold,
)

FILTERS = ("service", "version", "environment", "agent", "model", "tool", "session", "user", "status", "min_wall")
GROUPS = ("service", "environment", "version", "agent", "model", "engine", "tool", "status")
ENGINE_FILTERS = ("engine", "model")
CONDITIONS = ("above", "below", "rises", "falls", "absent", "burns")
RULE_KEYS = {
    "name", "of", "stat", "where", "group_by", *CONDITIONS, "window", "every", "for", "keep_firing", "least_samples",
    "no_data", "error", "severity", "labels", "channels", "bundle_by", "wait", "repeat", "note", "enabled",
}  # fmt: skip
SLO_KEYS = {"name", "good", "at_most", "target", "window", "where"}
LONGEST_NAME, LONGEST_TEXT, MOST = 200, 2_000, 20
OBJECTIVES = ("runs.error_rate", "calls.error_rate", "tools.failure_rate", "runs.wall", "runs.ttft", "runs.first_token",
              "calls.wall", "calls.ttft", "calls.tpot", "tools.wall")  # fmt: skip
_LABEL = re.compile(r"[A-Za-z_]\w{0,60}", re.ASCII)
_RULE = {field.name: field.default for field in fields(Rule)}


class RuleRefused(ValueError):
    """A rule or objective may not be so; the text says why, for people."""


def read_rule(told: Mapping[str, Any], slos: Mapping[str, Slo]) -> Rule:
    """Raises RuleRefused. ``slos`` are those that a burn rule may name."""
    try:
        return _rule(told, slos)
    except AmountRefused as error:
        raise RuleRefused(f"{told.get('name', 'the rule')}: {error}") from None


def _rule(told: Mapping[str, Any], slos: Mapping[str, Slo]) -> Rule:
    _only(told, RULE_KEYS, "a rule")
    name = _name(told)
    given = [key for key in CONDITIONS if told.get(key) not in (None, "")]
    if len(given) != 1:
        raise RuleRefused(f"{name}: say when it fires, by one of {', '.join(CONDITIONS)}")
    burns = told["burns"] if given == ["burns"] else None
    slo = _slo_of(name, burns, slos) if burns is not None else None
    measure = _measure(name, slo.measure if slo else told.get("of"))
    stat = _stat(name, measure, told.get("stat"))
    condition = _condition(name, given[0], told[given[0]], measure, stat)
    if isinstance(condition, Absence) and measure.shape is not Shape.COUNT and measure.source != "engine":
        raise RuleRefused(f"{name}: absence is of runs.count, calls.count, tools.count or of an engine")
    where = dict(slo.where) if slo else _where(name, measure, told.get("where"))
    if measure.shape is Shape.GAUGE and "model" in where and stat != "last":
        raise RuleRefused(f"{name}: of one model of an engine only the last value is kept; take stat: last")
    every_s = _seconds("every", told, 60, 60, 86_400)
    window_s = _seconds("window", told, 300, 60, 7 * 86_400)
    if window_s % 60 or every_s % 60:
        raise RuleRefused(f"{name}: window and every are whole minutes")
    return Rule(
        name=name, measure=measure.name, stat=stat, condition=condition, where=where,
        group_by=_group(name, measure, told.get("group_by"), where), window_s=window_s, every_s=every_s,
        for_s=_seconds("for", told, 0, 0, 7 * 86_400), keep_s=_seconds("keep_firing", told, 0, 0, 7 * 86_400),
        least_samples=_whole("least_samples", told, _RULE["least_samples"], 1, 10**9),
        no_data=_choice(Silent, "no_data", told, Silent.QUIET), error=_choice(Silent, "error", told, Silent.QUIET),
        severity=_choice(Severity, "severity", told, Severity.WARNING), labels=_labels(name, told.get("labels")),
        channels=_names("channels", told), bundle_by=_names("bundle_by", told) or ("alertname",),
        wait_s=_seconds("wait", told, 30, 0, 3600), repeat_s=_seconds("repeat", told, 4 * 3600, 300, 30 * 86_400),
        note=_text("note", told.get("note", "")), enabled=told.get("enabled", True) is not False,
    )  # fmt: skip


def write_rule(rule: Rule) -> dict[str, Any]:
    """What ``read_rule`` reads as the same rule, without what is usual."""
    is_burn = isinstance(rule.condition, Burn)
    told: dict[str, Any] = {"name": rule.name}
    if not is_burn:
        told |= {"of": rule.measure}
        if rule.stat != usual_stat(rule.what):
            told["stat"] = rule.stat
        if rule.where:
            told["where"] = dict(rule.where)
    if rule.group_by:
        told["group_by"] = rule.group_by
    told |= _write_condition(rule)
    for key, seconds, usual in (("window", rule.window_s, 300), ("every", rule.every_s, 60), ("for", rule.for_s, 0),
                                ("keep_firing", rule.keep_s, 0), ("wait", rule.wait_s, 30),
                                ("repeat", rule.repeat_s, 4 * 3600)):  # fmt: skip
        if seconds != usual:
            told[key] = write_duration(seconds * SECOND_NS)
    plain = {"least_samples": rule.least_samples, "no_data": rule.no_data.value, "error": rule.error.value,
             "severity": rule.severity.value, "note": rule.note, "enabled": rule.enabled}  # fmt: skip
    told |= {key: value for key, value in plain.items() if value != _usual(key)}
    if rule.labels:
        told["labels"] = dict(rule.labels)
    if rule.channels:
        told["channels"] = list(rule.channels)
    if rule.bundle_by != ("alertname",):
        told["bundle_by"] = list(rule.bundle_by)
    return told


def read_slo(told: Mapping[str, Any]) -> Slo:
    """Raises RuleRefused."""
    _only(told, SLO_KEYS, "an objective")
    name = _name(told)
    measure = MEASURES.get(str(told.get("good")))
    if measure is None or measure.name not in OBJECTIVES:
        raise RuleRefused(f"{name}: what counts as good is told by one of {', '.join(OBJECTIVES)}")
    try:
        limit_ns = read_duration(told["at_most"]) if told.get("at_most") not in (None, "") else None
        target = read_share(told.get("target", ""))
        window = read_duration(told.get("window") or "28d")
    except AmountRefused as error:
        raise RuleRefused(f"{name}: {error}") from None
    if (measure.shape is Shape.SPREAD) != (limit_ns is not None):
        raise RuleRefused(f"{name}: a time has at_most, a share of failures has none")
    if not 0.5 <= target <= 0.99999:
        raise RuleRefused(f"{name}: the target is from 50% to 99.999%")
    day = 86_400 * SECOND_NS
    if window % day or not 1 <= window // day <= 90:
        raise RuleRefused(f"{name}: the window is 1 to 90 whole days, such as 28d")
    return Slo(
        name=name, measure=measure.name, target=target, window_days=window // day, limit_ns=limit_ns,
        where=_where(name, measure, told.get("where")),
    )  # fmt: skip


def write_slo(slo: Slo) -> dict[str, Any]:
    told: dict[str, Any] = {"name": slo.name, "good": slo.measure}
    if slo.limit_ns is not None:
        told["at_most"] = write_duration(slo.limit_ns)
    told["target"] = write_share(slo.target)
    if slo.window_days != 28:
        told["window"] = f"{slo.window_days}d"
    if slo.where:
        told["where"] = dict(slo.where)
    return told


def usual_stat(measure: Measure) -> str:
    return "p95" if measure.shape is Shape.SPREAD else measure.stats[0]


def write_amount(value: float, measure: Measure, stat: str) -> str:
    """A limit as it is written in rules."""
    unit = unit_of(measure, stat)
    if unit == "ns":
        return write_duration(round(value))
    return write_share(value) if unit == "share" else f"{value:g}"


def condition_word(rule: Rule) -> str:
    """Which of CONDITIONS it is written with."""
    return next(iter(_write_condition(rule)))


def _usual(key: str) -> Any:
    usual = _RULE[key]
    return getattr(usual, "value", usual)


def _write_condition(rule: Rule) -> dict[str, Any]:
    condition = rule.condition
    if isinstance(condition, Threshold):
        return {"above" if condition.above else "below": write_amount(condition.limit, rule.what, rule.stat)}
    if isinstance(condition, Change):
        return {"rises" if condition.above else "falls": write_share(condition.share)}
    if isinstance(condition, Absence):
        return {"absent": True}
    told: dict[str, Any] = {"slo": condition.slo}
    if condition.pairs != FAST_AND_SLOW:
        told["pairs"] = [
            {"long": write_duration(p.long_s * SECOND_NS), "short": write_duration(p.short_s * SECOND_NS),
             "factor": p.factor} for p in condition.pairs
        ]  # fmt: skip
    return {"burns": told}


def _condition(name: str, key: str, told: Any, measure: Measure, stat: str) -> Condition:
    if key in ("above", "below"):
        unit = unit_of(measure, stat)
        read = {"ns": lambda text: float(read_duration(text)), "share": read_share, "number": read_number}[unit]
        return Threshold(above=key == "above", limit=read(told))
    if key in ("rises", "falls"):
        share = read_share(told)
        if not 0 < share <= (100 if key == "rises" else 1):
            raise RuleRefused(f"{name}: {key} by a share, such as 30%")
        return Change(above=key == "rises", share=share)
    if key == "absent":
        if told is not True:
            raise RuleRefused(f"{name}: absent is true")
        return Absence()
    return Burn(slo=told["slo"], pairs=_pairs(name, told.get("pairs")))


def _slo_of(name: str, told: Any, slos: Mapping[str, Slo]) -> Slo:
    if not isinstance(told, Mapping) or not set(told) <= {"slo", "pairs"} or told.get("slo") not in slos:
        known = ", ".join(slos) or "none yet"
        raise RuleRefused(f"{name}: burns names an objective, as {{slo: NAME}}; there are {known}")
    return slos[told["slo"]]


def _pairs(name: str, told: Any) -> tuple[Pair, ...]:
    if told is None:
        return FAST_AND_SLOW
    if not isinstance(told, Sequence) or isinstance(told, str) or not 1 <= len(told) <= 6:
        raise RuleRefused(f"{name}: pairs are 1 to 6 of {{long, short, factor}}")
    made = []
    for one in told:
        if not isinstance(one, Mapping) or set(one) != {"long", "short", "factor"}:
            raise RuleRefused(f"{name}: a pair is {{long, short, factor}}")
        long_s, short_s = (read_duration(one[key]) // SECOND_NS for key in ("long", "short"))
        if not 60 <= short_s < long_s <= 30 * 86_400 or long_s % 60 or short_s % 60:
            raise RuleRefused(f"{name}: a pair's windows are whole minutes, the short one shorter, at most 30d")
        made.append(Pair(long_s=long_s, short_s=short_s, factor=read_number(one["factor"])))
    return tuple(made)


def _measure(name: str, told: Any) -> Measure:
    if told not in MEASURES:
        known = ", ".join(list(MEASURES)[:8])
        raise RuleRefused(f"{name}: of {str(told)[:60]!r}: expected a measure such as {known}")
    return MEASURES[told]


def _stat(name: str, measure: Measure, told: Any) -> str:
    stat = told or usual_stat(measure)
    if stat not in measure.stats:
        raise RuleRefused(f"{name}: of {measure.name} there is {', '.join(measure.stats)}, not {str(stat)[:20]!r}")
    return str(stat)


def _group(name: str, measure: Measure, told: Any, where: Mapping[str, str]) -> str | None:
    group = told or None
    if measure.source == "engine":
        return "engine"  # each engine by itself, always
    if group is not None and group not in GROUPS:
        raise RuleRefused(f"{name}: group_by is one of {', '.join(GROUPS)}")
    if group == "tool" and measure.source != "tools":
        raise RuleRefused(f"{name}: only tools.* can be grouped by tool")
    if group == "model" and measure.source == "tools":
        raise RuleRefused(f"{name}: tools.* cannot be grouped by model")
    if group in where:
        raise RuleRefused(f"{name}: {group} is one value already; leave group_by out")
    return group


def _where(name: str, measure: Measure, told: Any) -> dict[str, str]:
    known = ENGINE_FILTERS if measure.source == "engine" else FILTERS
    where = _labels(name, told)
    if not set(where) <= set(known):
        raise RuleRefused(f"{name}: where takes {', '.join(known)}")
    if "min_wall" in where:
        read_duration(where["min_wall"])
    if where.get("status", "ok") not in ("ok", "error"):
        raise RuleRefused(f"{name}: status is ok or error")
    return where


def _labels(name: str, told: Any) -> dict[str, str]:
    if told in (None, ""):
        return {}
    if not isinstance(told, Mapping) or len(told) > MOST:
        raise RuleRefused(f"{name}: labels and filters are at most {MOST} names with their values")
    made = {str(key): str(value) for key, value in sorted(told.items())}
    for key, value in made.items():
        if not _LABEL.fullmatch(key) or not value.isprintable() or not 0 < len(value) <= LONGEST_NAME:
            raise RuleRefused(f"{name}: {key[:40]!r}: a name is letters, digits and _, a value visible characters")
    return made


def _name(told: Mapping[str, Any]) -> str:
    name = str(told.get("name") or "").strip()
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise RuleRefused(f"a name is 1 to {LONGEST_NAME} visible characters")
    return name


def _text(key: str, told: Any) -> str:
    text = str(told or "").strip().replace("\r\n", "\n")
    if len(text) > LONGEST_TEXT or not text.replace("\n", "").isprintable():
        raise RuleRefused(f"{key} is at most {LONGEST_TEXT} visible characters")
    return text


def _seconds(key: str, told: Mapping[str, Any], usual: int, least: int, most: int) -> int:
    if told.get(key) in (None, ""):
        return usual
    seconds = read_duration(told[key]) // SECOND_NS if str(told[key]) != "0" else 0
    if not least <= seconds <= most:
        low, high = write_duration(least * SECOND_NS), write_duration(most * SECOND_NS)
        raise RuleRefused(f"{key} is from {low} to {high}")
    return seconds


def _whole(key: str, told: Mapping[str, Any], usual: Any, least: int, most: int) -> int:
    if told.get(key) in (None, ""):
        return int(usual)
    number = read_number(told[key])
    if number != int(number) or not least <= number <= most:
        raise RuleRefused(f"{key} is a whole number from {least}")
    return int(number)


def _choice(kind: Any, key: str, told: Mapping[str, Any], usual: Any) -> Any:
    if told.get(key) in (None, ""):
        return usual
    try:
        return kind(told[key])
    except ValueError:
        raise RuleRefused(f"{key} is one of {', '.join(kind)}") from None


def _names(key: str, told: Mapping[str, Any]) -> tuple[str, ...]:
    given = told.get(key) or []
    if isinstance(given, str):
        given = [part.strip() for part in given.split(",") if part.strip()]
    if not isinstance(given, Sequence) or len(given) > MOST or any(not isinstance(one, str) for one in given):
        raise RuleRefused(f"{key} is a list of at most {MOST} names")
    return tuple(dict.fromkeys(given))


def _only(told: Mapping[str, Any], known: set[str], what: str) -> None:
    if not isinstance(told, Mapping):
        raise RuleRefused(f"{what} is written as names with values")
    if unknown := sorted(map(str, set(told) - known)):
        raise RuleRefused(f"{what} has no {', '.join(unknown)[:100]}; it takes {', '.join(sorted(known))}")
