"""Two projects that must know nothing of each other, and every address there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.models import Membership, ReadToken, Role
from ingest.models import EngineTarget, IngestKey, Project
from tests.integration.access.alerts import make_alerts
from tests.integration.access.stored import SECRET_WORD, store_run

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, kw_only=True)
class Side:
    """A project with one of everything that it can own."""

    project: Project
    admin: User
    viewer: User
    key: IngestKey
    key_secret: str
    token: ReadToken
    token_secret: str
    run_id: str
    engine_id: int
    view_id: int
    alerts: dict[str, Any]

    @property
    def parameters(self) -> dict[str, Any]:
        """A real value of this side for every parameter that an address may have."""
        trace_id, _, span_id = self.run_id.partition("-")
        return {
            "run_id": self.run_id,
            "trace_id": trace_id,
            "span_id": span_id,
            "key_id": self.key.pk,
            "token_id": self.token.pk,
            "user_id": self.viewer.pk,
            "engine_id": self.engine_id,
            "view_id": self.view_id,
            **self.alerts,
            "iso_week": "last",
        }


def make_side(slug: str) -> Side:
    project = Project.objects.create(slug=slug, name=f"{SECRET_WORD} {slug}")
    people = {role: User.objects.create_user(f"{role}-of-{slug}") for role in (Role.ADMIN, Role.VIEWER)}
    for role, user in people.items():
        Membership.objects.create(project=project, user=user, role=role)
    key, key_secret = IngestKey.issue(project, f"{SECRET_WORD} key of {slug}")
    token, token_secret = ReadToken.issue(project, f"{SECRET_WORD} token of {slug}")
    return Side(
        project=project, admin=people[Role.ADMIN], viewer=people[Role.VIEWER], key=key, key_secret=key_secret,
        token=token, token_secret=token_secret, run_id=store_run(project),
        engine_id=EngineTarget.objects.create(project=project, name=f"{SECRET_WORD} engine", url="http://10.0.0.1/").pk,
        view_id=project.saved_views.create(name=f"{SECRET_WORD} view", shared=True).pk, alerts=make_alerts(project),
    )  # fmt: skip


def routes() -> list[str]:
    """Every route of the URL configuration, pages and API alike, as Django writes it."""
    return sorted(_routes(get_resolver().url_patterns, ""))


def _routes(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for pattern in patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield f"/{route}"


def filled(route: str, side: Side) -> str:
    """The route with a side's own ids in place of its parameters."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in side.parameters:
            raise LookupError(f"{route}: add what <{found[1]}> means to Side.parameters, so that it is tested")
        return str(side.parameters[found[1]])

    return PARAMETER.sub(value, route)


def has_parameters(route: str) -> bool:
    """Whether the address names something that belongs to somebody: a week belongs to all."""
    return any(name != "iso_week" for name in PARAMETER.findall(route))
