"""Alerts as the API tells and takes them. Rules and objectives are in the form of their YAML (docs/alerts.md)."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import ConfigDict, Field

from dashboard.api.shapes import MaybeUnixNs, Shape, UnixNs


class FiringShape(Shape):
    """One time that an alert fired. ``value``, ``worst`` and ``limit`` are in the unit of the measure: nanoseconds, a
    share, or a number."""

    id: str
    rule_id: int | None
    rule: str
    title: str
    labels: dict[str, str]
    severity: str
    measure: str
    stat: str
    condition: str = Field(description="above, below, rises, falls, absent or burns")
    cause: str = Field(description="breach, no_data or error")
    since_unix_ns: UnixNs
    fired_unix_ns: UnixNs
    resolved_unix_ns: MaybeUnixNs
    end: str | None = Field(description="recovered, no_data, rule_changed or gone; null while it fires")
    value: float | None
    worst: float | None
    limit: float | None
    samples: int
    window_s: int
    was_missed: bool = Field(description="over before this instance, which was down, could tell anyone")
    acknowledged_by: str | None
    acknowledged_unix_ns: MaybeUnixNs


class AlertList(Schema):
    alerts: list[FiringShape]


class Seen(Schema):
    model_config = ConfigDict(extra="forbid")
    acknowledged: bool = Field(description="true: somebody has seen it, and it is not told again but for its end")


class Standing(Shape):
    """How one value of a rule's grouping stands."""

    labels: dict[str, str]
    fingerprint: str
    state: str = Field(description="ok, pending, firing, no_data or error")
    since_unix_ns: UnixNs
    value: float | None
    limit: float | None
    samples: int
    why: str


class RuleShape(Schema):
    id: int
    rule: dict[str, Any]
    enabled: bool
    origin: str
    evaluated_unix_ns: str
    error: str | None
    alerts: list[Standing]


class RuleList(Schema):
    rules: list[RuleShape]


class WouldShape(Shape):
    group: str | None
    fired_unix_ns: UnixNs
    resolved_unix_ns: MaybeUnixNs
    value: str


class PreviewShape(Schema):
    """When a rule would have fired in the last week, and how closely that was looked at."""

    would: list[WouldShape]
    groups: int
    looks: int
    untold: int
    how: str


class ObjectiveShape(Schema):
    """``share`` is what was good of ``total`` in the objective's own window, up to now."""

    id: int
    objective: dict[str, Any]
    total: int
    good: int
    share: float | None
    budget_left: float | None


class ObjectiveList(Schema):
    objectives: list[ObjectiveShape]


class ChannelShape(Schema):
    id: int
    name: str
    notifier: str
    options: dict[str, str]
    has_secret: bool
    is_usual: bool
    enabled: bool
    sent_unix_ns: str | None
    error: str | None


class ChannelList(Schema):
    channels: list[ChannelShape]


class ChannelTold(Schema):
    """What a channel's notifier needs, such as ``url``, ``to`` and ``secret``; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")
    name: str | None = None
    notifier: str | None = None
    url: str | None = None
    to: str | None = None
    secret: str | None = None
    is_usual: bool | None = None
    enabled: bool | None = None

    def told(self) -> dict[str, Any]:
        return {key: value for key, value in self.dict().items() if value is not None}


class ChannelTest(Schema):
    model_config = ConfigDict(extra="forbid")
    channel_id: int


class SilenceShape(Schema):
    id: int
    name: str
    matchers: str
    from_unix_ns: str | None
    to_unix_ns: str | None
    weekly: dict[str, Any] | None
    comment: str
    made_by: str
    holds: bool = Field(description="whether it is in force now")


class SilenceList(Schema):
    silences: list[SilenceShape]


class NewSilence(Schema):
    """For a time (``for``, or ``to_unix_ns``), or on ``days`` of the week ``from`` and ``to`` a time of day."""

    model_config = ConfigDict(extra="forbid")
    matchers: str = Field(description='such as service=support, alertname="A tool fails"')
    for_: str | None = Field(None, alias="for", description="such as 2h")
    from_unix_ns: int | None = None
    to_unix_ns: int | None = None
    days: str | None = Field(None, description="such as sat, sun")
    from_: str | None = Field(None, alias="from", description="such as 22:00")
    to: str | None = None
    zone: str | None = None
    comment: str = ""
    name: str = ""

    def told(self) -> dict[str, Any]:
        return {key.rstrip("_"): value for key, value in self.dict().items() if value not in (None, "")}


class Applied(Shape):
    made: list[str]
    changed: list[str]
    removed: list[str]
    same: int
