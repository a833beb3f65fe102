"""What an alert is called by programs: labels, a fingerprint of them, and which alerts share a message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from .rule import Rule

NONE, OTHER = "(none)", "(other)"  # those without a value of the grouping, and those beyond the bound of keys


def labels_of(rule: Rule, project: str, group: str | None, *, is_other: bool = False) -> dict[str, str]:
    """The rule's own labels, its filter, and what it is grouped by; names in order."""
    labels = {**rule.where, **rule.labels, "alertname": rule.name, "project": project, "severity": rule.severity.value}
    if rule.group_by is not None:
        labels[rule.group_by] = OTHER if is_other else NONE if group is None else group
    return dict(sorted(labels.items()))


def fingerprint(labels: Mapping[str, str]) -> str:
    """16 hex digits of SHA-256. The severity is left out, so that a rule made more severe stays the same alert."""
    told = json.dumps({name: value for name, value in labels.items() if name != "severity"}, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def bundle_key(labels: Mapping[str, str], bundle_by: Sequence[str]) -> str:
    """Alerts of equal values go into one message; ``...`` means every alert by itself."""
    names = sorted(labels) if "..." in bundle_by else sorted(bundle_by)
    return json.dumps([[name, labels.get(name, "")] for name in names])
