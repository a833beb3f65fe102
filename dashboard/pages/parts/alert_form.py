"""The form of a rule: what was typed becomes a rule as it is written, and the other way round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.alerts.core.measures import MEASURES
from dashboard.alerts.core.written import FILTERS, GROUPS, usual_stat
from dashboard.alerts.models import Channel
from ingest.models import Project

# What a form's words for a condition are in a rule.
CONDITIONS = (("above", "is above"), ("below", "is below"), ("rises", "is above last week’s by"),
              ("falls", "is below last week’s by"), ("absent", "stays away"),
              ("burns", "burns its budget"))  # fmt: skip
SOURCES = {"runs": "Runs", "calls": "Model calls", "tools": "Tool calls", "engine": "Engines"}
STAT_WORDS = {
    "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "mean": "mean", "share": "share", "count": "number",
    "per_minute": "a minute", "max": "highest", "last": "last", "per_second": "a second",
}  # fmt: skip
PLAIN = ("name", "group_by", "window", "every", "for", "keep_firing", "least_samples", "no_data", "error", "severity",
         "note", "wait", "repeat", "enabled")  # fmt: skip
SILENT = (("quiet", "show it, tell nobody"), ("alert", "tell"))


def told_of(sent: Mapping[str, Any], channels: Iterable[str], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The rule that a form says. What the form has no field for is taken from ``base``."""
    told: dict[str, Any] = {key: base[key] for key in ("labels", "bundle_by", "every", "wait") if base and key in base}
    told |= {key: value for key in PLAIN if (value := str(sent.get(key, "")).strip())}
    if told.pop("enabled", "yes") == "no":
        told["enabled"] = False
    condition = str(sent.get("when", "above"))
    if condition == "burns":
        told["burns"] = {"slo": str(sent.get("slo", ""))}
        if base and isinstance(base.get("burns"), Mapping) and base["burns"].get("slo") == sent.get("slo"):
            told["burns"] = dict(base["burns"])
    else:
        told["of"] = str(sent.get("of", ""))
        told[condition] = True if condition == "absent" else str(sent.get("amount", "")).strip()
        if (stat := str(sent.get("stat", ""))) and condition != "absent":
            told["stat"] = stat
        told["where"] = read_where(str(sent.get("where", "")))
    if chosen := [name for name in channels if name]:
        told["channels"] = chosen
    return told


def read_where(text: str) -> dict[str, str]:
    """Of ``service=shop, model=llama``; what is no such pair is left for the rule's own refusal to name."""
    pairs = [part.partition("=") for part in text.replace("\n", ",").split(",") if part.strip()]
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def fields_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """As the form's fields show a rule."""
    when = next((key for key, _ in CONDITIONS if key in told), "above")
    amount = told.get(when, "")
    measure = MEASURES.get(str(told.get("of", "")))
    burns = told.get("burns")
    return {
        **{key: told.get(key, "") for key in PLAIN},
        "of": told.get("of", ""), "when": when, "amount": amount if isinstance(amount, str) else "",
        "stat": told.get("stat") or (usual_stat(measure) if measure else "p95"),
        "slo": burns["slo"] if isinstance(burns, Mapping) and "slo" in burns else "",
        "where": ", ".join(f"{name}={value}" for name, value in (told.get("where") or {}).items()),
        "channels": list(told.get("channels") or ()), "off": told.get("enabled") is False,
    }  # fmt: skip


def choices(project: Project, slos: Iterable[str]) -> dict[str, Any]:
    """What the form's lists offer."""
    return {
        "measures": [
            (label, [(m.name, m.label, " ".join(m.stats)) for m in MEASURES.values() if m.source == source])
            for source, label in SOURCES.items()
        ],
        "stats": list(STAT_WORDS.items()), "conditions": CONDITIONS, "groups": GROUPS, "filters": ", ".join(FILTERS),
        "slos": list(slos), "severities": ("critical", "warning", "info"), "silent": SILENT,
        "all_channels": list(Channel.objects.filter(project=project).order_by("name")),
    }  # fmt: skip
