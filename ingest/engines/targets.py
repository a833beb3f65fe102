"""Targets made, changed and taken away: by a page, the API, or a file; what may not be is refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from ingest.engines.credentials import CredentialsRefused, encrypt, read_credentials
from ingest.engines.kinds import Kind
from ingest.engines.store import MS
from ingest.models import EngineTarget, Project
from ingest.models.engine import Origin
from ingest.outbound.addresses import Policy, RefusedAddress, check_url, read_url
from ingest.outbound.fetching import FetchFailed, Tls

INTERVAL_MS = (1_000, 3_600_000)
TIMEOUT_MS = (100, 60_000)
MOST_LABELS, LONGEST_LABEL, LONGEST_NAME, LONGEST_CA = 20, 200, 200, 50_000
MOST_TARGETS = 2_000
KINDS = tuple(kind for kind in Kind if kind is not Kind.GEN_AI)


class TargetRefused(ValueError):
    """A target may not be so; the text says why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What somebody wants a target to be. Fields that are None stay as they are, or get their default."""

    url: str | None = None
    name: str | None = None
    kind: str | None = None
    labels: Mapping[str, str] | None = None
    interval_ms: int | None = None
    timeout_ms: int | None = None
    enabled: bool | None = None
    verify_tls: bool | None = None
    ca: str | None = None
    scheme: str | None = None
    user: str = ""
    secret: str = field(default="", repr=False)


def policy() -> Policy:
    """What this instance may connect to."""
    return Policy(loopback=settings.SIXSTAGE_EMBEDDED, allowed=tuple(settings.SIXSTAGE_ALLOWED_TARGETS))


def add_target(project: Project, given: Given, origin: Origin) -> EngineTarget:
    """Raises TargetRefused."""
    if not given.url:
        raise TargetRefused("a target needs the URL of its metrics")
    if EngineTarget.objects.filter(project=project).count() >= MOST_TARGETS:
        raise TargetRefused(f"a project has at most {MOST_TARGETS} targets")
    target = EngineTarget(project=project, origin=origin)
    _apply(target, given)
    if not target.name:
        target.name = usual_name(target.url)
    return _saved(target)


def change_target(target: EngineTarget, given: Given) -> EngineTarget:
    """Raises TargetRefused. It is scraped anew at once."""
    _apply(target, given)
    target.due_unix_ns = 0
    return _saved(target)


def usual_name(url: str) -> str:
    """The server's host and port: what a target is called that nobody named."""
    return read_url(url).netloc[:LONGEST_NAME]


def _saved(target: EngineTarget) -> EngineTarget:
    changed = None if target.pk is None else [
        "url", "name", "kind", "labels", "interval_ms", "timeout_ms", "enabled", "tls", "credentials", "due_unix_ns",
    ]  # fmt: skip
    try:
        with transaction.atomic():
            target.save(update_fields=changed)
    except IntegrityError:
        raise TargetRefused(f"there is a target called {target.name} already") from None
    return target


def _apply(target: EngineTarget, given: Given) -> None:
    if given.url is not None:
        try:
            target.url = check_url(given.url, policy()).geturl()
        except RefusedAddress as error:
            raise TargetRefused(str(error)) from None
    if given.name is not None:
        target.name = _name(given.name)
    if given.kind is not None:
        if given.kind not in KINDS:
            raise TargetRefused(f"the kind is one of {', '.join(KINDS)}")
        target.kind = given.kind
    if given.labels is not None:
        target.labels = _labels(given.labels)
    target.interval_ms = _within("the interval", given.interval_ms, target.interval_ms, INTERVAL_MS)
    target.timeout_ms = _within("the time-out", given.timeout_ms, target.timeout_ms, TIMEOUT_MS)
    if given.enabled is not None:
        target.enabled = given.enabled
    _apply_tls(target, given)
    if given.scheme is not None:
        target.credentials = _credentials(given)


def _apply_tls(target: EngineTarget, given: Given) -> None:
    tls: dict[str, Any] = dict(target.tls)
    if given.verify_tls is not None:
        tls["verify"] = given.verify_tls
    if given.ca is not None:
        if len(given.ca) > LONGEST_CA:
            raise TargetRefused("the certificates are longer than any chain")
        tls["ca"] = given.ca.strip()
        try:
            Tls(ca=tls["ca"]).context()
        except (FetchFailed, ValueError, OSError) as error:
            raise TargetRefused(f"the certificates cannot be read as PEM: {error}") from None
    target.tls = tls


def _credentials(given: Given) -> bytes | None:
    if given.scheme in ("", "none"):
        return None
    try:
        told = read_credentials(given.scheme or "", given.secret, given.user)
        return encrypt(told, settings.SIXSTAGE_ENCRYPTION_KEY)
    except CredentialsRefused as error:
        raise TargetRefused(str(error)) from None


def _name(name: str) -> str:
    name = name.strip()
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise TargetRefused(f"a name is 1 to {LONGEST_NAME} visible characters")
    return name


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    if len(labels) > MOST_LABELS:
        raise TargetRefused(f"a target has at most {MOST_LABELS} labels")
    for key, value in labels.items():
        if not isinstance(value, str) or not key or max(len(key), len(value)) > LONGEST_LABEL:
            raise TargetRefused(f"a label is a name and a text of at most {LONGEST_LABEL} characters")
        if not (key.isprintable() and value.isprintable()):
            raise TargetRefused("labels hold visible characters only")
    return dict(labels)


def _within(what: str, given: int | None, had: int, limits: tuple[int, int]) -> int:
    if given is None:
        return had
    low, high = limits
    if not low <= given <= high:
        raise TargetRefused(f"{what} is from {low * MS / 1e9:g} to {high * MS / 1e9:g} seconds")
    return given
