"""Targets from a TOML file, which can live in Git. What it lists is made and kept so; what it no longer lists is off.

[[target]]
url = "https://vllm.example.org/metrics"
name = "vllm-a"                # else host and port
kind = "vllm"                  # else found out
interval_s = 5
labels = { team = "search" }
project = "default"            # else the first
credentials = { scheme = "bearer", secret_env = "VLLM_TOKEN" }   # or secret_file; never the secret itself
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import transaction

from ingest.engines.targets import Given, TargetRefused, add_target, change_target, usual_name
from ingest.models import EngineTarget, Project
from ingest.models.engine import Origin
from ingest.outbound.addresses import RefusedAddress

log = logging.getLogger(__name__)

KNOWN = {"url", "name", "kind", "interval_s", "timeout_s", "labels", "project", "credentials", "verify_tls", "ca_file"}
LARGEST_BYTES = 4 << 20

_read: dict[Path, tuple[int, int]] = {}


def read_if_changed(path: Path) -> None:
    """Read the file if it is another than last time; what is wrong with it is logged and changes nothing."""
    try:
        told = path.stat()
        if _read.get(path) == (told.st_mtime_ns, told.st_size):
            return
        _read[path] = (told.st_mtime_ns, told.st_size)
        if told.st_size > LARGEST_BYTES:
            raise TargetRefused(f"it is larger than {LARGEST_BYTES >> 20} MiB")
        apply(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        log.warning("the targets in %s stay as they were: %s", path, error)


@transaction.atomic
def apply(text: str) -> None:
    """Make the targets as the file says, all or none. Raises TargetRefused, or ValueError for no TOML."""
    listed = tomllib.loads(text).get("target", [])
    if not isinstance(listed, list):
        raise TargetRefused("targets are written as [[target]]")
    kept: set[int] = set()
    for number, told in enumerate(listed, 1):
        try:
            kept.add(_apply_one(told).pk)
        except (TargetRefused, RefusedAddress, TypeError) as error:
            raise TargetRefused(f"target {number}: {error}") from None
    EngineTarget.objects.filter(origin=Origin.FILE, enabled=True).exclude(pk__in=kept).update(enabled=False)


def _apply_one(told: Mapping[str, Any]) -> EngineTarget:
    unknown = sorted(set(told) - KNOWN)
    if unknown:
        raise TargetRefused(f"{unknown[0]!r} is not known; there are {', '.join(sorted(KNOWN))}")
    project = _project(told.get("project"))
    given = Given(
        url=told.get("url"), name=told.get("name") or usual_name(str(told.get("url", ""))),
        kind=told.get("kind", "auto"),
        labels=told.get("labels", {}), interval_ms=_ms(told.get("interval_s", 5)),
        timeout_ms=_ms(told.get("timeout_s", 4)),
        enabled=True, verify_tls=bool(told.get("verify_tls", True)),
        ca=Path(told["ca_file"]).read_text() if "ca_file" in told else "", **_secrets(told.get("credentials")),
    )  # fmt: skip
    had = EngineTarget.objects.select_for_update().filter(project=project, name=given.name).first()
    if had is None:
        return add_target(project, given, Origin.FILE)
    if had.origin != Origin.FILE:
        raise TargetRefused(f"there is a target called {given.name} already, made by {had.origin}")
    return change_target(had, given)


def _project(slug: str | None) -> Project:
    projects = Project.objects.order_by("pk")
    found = (projects.filter(slug=slug) if slug else projects).first()
    if found is None:
        raise TargetRefused(f"there is no project {slug!r}")
    return found


def _ms(seconds: float) -> int:
    return round(float(seconds) * 1000)


def _secrets(told: Mapping[str, Any] | None) -> dict[str, str]:
    """The secret from where the file says it is: what lives in Git holds none."""
    if told is None:
        return {"scheme": "none"}
    if "secret_env" in told:
        secret = os.environ.get(told["secret_env"], "")
        where = f"the variable {told['secret_env']}"
    elif "secret_file" in told:
        secret, where = Path(told["secret_file"]).read_text().strip(), told["secret_file"]
    else:
        raise TargetRefused("credentials name a secret_env or a secret_file")
    if not secret:
        raise TargetRefused(f"{where} holds no secret")
    return {"scheme": str(told.get("scheme", "bearer")), "user": str(told.get("name", "")), "secret": secret}
