"""One of everything that alerting keeps of a project."""

from __future__ import annotations

import uuid
from typing import Any

from dashboard.alerts.channels import save_channel
from dashboard.alerts.models import Firing
from dashboard.alerts.rules import save_rule, save_slo
from dashboard.alerts.silencing import add_silence
from ingest.models import Project
from tests.integration.access.stored import SECRET_WORD

NOW = 1_700_000_000 * 10**9


def make_alerts(project: Project) -> dict[str, Any]:
    """Values of the parameters that addresses of alerts have."""
    rule = save_rule(project, {"name": f"{SECRET_WORD} rule {project.slug}", "of": "runs.wall", "above": "1s"}, NOW)
    firing = Firing.objects.create(
        id=uuid.uuid4(), project=project, rule=rule, rule_name=rule.name, fingerprint="f" * 16,
        labels={"alertname": rule.name, "project": project.slug, "severity": "warning"}, severity="warning",
        measure="runs.wall", stat="p95", condition="above", cause="breach", title=f"{SECRET_WORD} alert {project.slug}",
        since_unix_ns=NOW, fired_unix_ns=NOW, resolved_unix_ns=NOW + 10**9, window_s=300,
    )  # fmt: skip
    silence = add_silence(project, {"matchers": "alertname=x", "for": "2h", "comment": SECRET_WORD}, "", NOW * 2)
    slo = save_slo(project, {"name": f"{SECRET_WORD} slo", "good": "runs.error_rate", "target": "99%"})
    channel = save_channel(
        project, {"notifier": "webhook", "name": f"{SECRET_WORD} channel", "url": "http://10.0.0.1/"}
    )
    return {"rule_id": rule.pk, "firing_id": firing.pk, "silence_id": silence.pk, "slo_id": slo.pk,
            "channel_id": channel.pk}  # fmt: skip
