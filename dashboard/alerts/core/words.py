"""What is wrong, in plain words: titles of alerts and the sentences of their messages."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard import figures

from .measures import MEASURES, Shape, unit_of
from .rule import Absence, Burn, Change, Rule, Threshold
from .standing import Cause, End
from .verdict import Verdict

QUIET_LABELS = {"alertname", "project", "severity"}
TITLE_MOST = 400


def figure_words(measure: str, stat: str) -> str:
    """``TTFT p95``, ``Tool failures``, ``Runs a minute``, ``Requests in the queue, highest``."""
    what = MEASURES[measure]
    if what.shape is Shape.COUNT:
        return f"{what.label} a minute" if stat == "per_minute" else what.label
    if what.shape is Shape.SHARE:
        return what.label
    words = {"max": ", highest", "last": ", now", "per_second": " a second", "count": "", "mean": " on average"}
    return f"{what.label}{words.get(stat, f' {stat}')}"


def amount_words(value: float | None, measure: str, stat: str) -> str:
    """A value of the measure as people read it."""
    unit = unit_of(MEASURES[measure], stat)
    if value is None:
        return figures.UNKNOWN
    if unit == "ns":
        return str(figures.duration(round(value)))
    if unit == "share":
        return str(figures.percent(value))
    return str(figures.count(round(value))) if value == round(value) or abs(value) >= 100 else f"{value:.3g}"


def subject_words(labels: Mapping[str, str], own: Mapping[str, str]) -> str:
    """Whom an alert is about: the values of its filter and group, without the rule's own labels."""
    return ", ".join(
        value for name, value in labels.items() if name not in QUIET_LABELS and own.get(name) != value
    )


def title(rule: Rule, labels: Mapping[str, str], verdict: Verdict, cause: Cause) -> str:
    """One sentence without a full stop: what is how bad, and against what."""
    subject = subject_words(labels, rule.labels)
    of = f" of {subject}" if subject else ""
    if cause is Cause.NO_DATA:
        return _short(f"{figure_words(rule.measure, rule.stat)}{of} cannot be told: {verdict.why or 'no data'}")
    if cause is Cause.ERROR:
        return _short(f"{rule.name}{of} cannot be evaluated: {verdict.why}")
    return _short(_breach(rule, subject, of, verdict))


def span_words(seconds: int) -> str:
    """``5 minutes``, ``1 hour``, ``3 days``: windows are whole minutes."""
    for unit, size in (("day", 86_400), ("hour", 3_600)):
        if seconds % size == 0:
            return figures.plural(seconds // size, unit)
    return figures.plural(seconds // 60, "minute")


def _breach(rule: Rule, subject: str, of: str, verdict: Verdict) -> str:
    condition = rule.condition
    name, value = figure_words(rule.measure, rule.stat), amount_words(verdict.value, rule.measure, rule.stat)
    limit = amount_words(verdict.limit, rule.measure, rule.stat)
    if isinstance(condition, Absence):
        item = "scrapes" if rule.what.source == "engine" else rule.what.part_of
        return f"No {item}{of} for {span_words(rule.window_s)}"
    if isinstance(condition, Burn):
        return f"{condition.slo}{of} burns its error budget {verdict.value or 0:.1f} times too fast"
    if rule.measure == "engine.up" and verdict.value is not None:
        failing = amount_words(1 - verdict.value, rule.measure, rule.stat)
        return f"{failing} of scrapes of {subject or 'the engines'} fail"
    verb = "are" if MEASURES[rule.measure].label.endswith("s") else "is"
    if isinstance(condition, Change):
        side = "above" if condition.above else "below"
        then = amount_words(verdict.before, rule.measure, rule.stat)
        return f"{name}{of} {verb} {value}, more than {figures.percent(condition.share)} {side} last week's {then}"
    assert isinstance(condition, Threshold)
    return f"{name}{of} {verb} {value}, {'above' if condition.above else 'below'} {limit}"


def how_bad(rule: Rule, verdict: Verdict) -> str:
    """A second sentence: by how much, and over how many samples."""
    over = f"Over {figures.plural(verdict.samples, 'sample')} in {span_words(rule.window_s)}"
    if isinstance(rule.condition, Burn):
        pair = next((p for p in rule.condition.pairs if p.factor == verdict.limit), rule.condition.pairs[0])
        long, short = map(span_words, (pair.long_s, pair.short_s))
        return f"At least {pair.factor:g} times, over the last {long} and the last {short}."
    if isinstance(rule.condition, Absence) or not verdict.limit or verdict.value is None:
        return f"{over}."
    times = verdict.value / verdict.limit if rule.condition.above else verdict.limit / max(verdict.value, 1e-9)
    return f"{over}; {times:.1f} times the limit." if 1.05 <= times < 1000 else f"{over}."


END_WORDS = {
    End.RECOVERED: "It is back to normal",
    End.NO_DATA: "No data comes any more, so whether it is back to normal is not known",
    End.RULE_CHANGED: "Its rule was changed or switched off",
    End.GONE: "What it was about, or its rule, is gone",
}


def _short(text: str) -> str:
    return text if len(text) <= TITLE_MOST else text[: TITLE_MOST - 1] + "…"
