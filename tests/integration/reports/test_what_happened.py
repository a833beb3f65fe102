"""What stands beside a week's figures: deploys, objectives met and missed, alerts that fired; as the API tells them."""

from __future__ import annotations

import csv
import io
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from pypdf import PdfReader

from dashboard.alerts.evaluating import evaluate_due
from dashboard.alerts.models import Firing
from dashboard.alerts.rules import save_rule, save_slo
from dashboard.reports.core.values import AlertRow
from dashboard.reports.core.weeks import Week
from dashboard.reports.forms.mail import as_html
from dashboard.reports.forms.pdf import as_pdf
from dashboard.reports.forms.sheet import write_sheet
from dashboard.reports.forms.table import as_csv
from dashboard.reports.forms.text import as_text
from dashboard.reports.making import make_report
from ingest.models import Project
from tests.integration.reports.planted import HOUR_NS, MINUTE_NS, Plan, Traffic
from tests.integration.reports.telling import Looked
from tests.integration.reports.test_forms_agree import glued

pytestmark = pytest.mark.django_db
LATE_NS = 2 * 10**18
WEEK = Week(2026, 20)
API = "/api/v1"


def test_a_week_with_deploys_objectives_and_alerts_tells_them_in_every_form(project: Project, looked: Looked) -> None:
    traffic = Traffic(project, seed=4, runs_a_week=400)
    traffic.write(WEEK.shifted(-1), Plan(cause=None))
    traffic.write(WEEK, Plan(cause="x", service="support", changed={"tool_ms": 4000}, from_day=2))
    days = WEEK.day_bounds_ns(ZoneInfo(project.zone))
    deployed = {"service": "support", "version": "2.1", "at_unix_ns": str(days[2] + HOUR_NS)}
    assert looked.client.post(f"{API}/deploys", deployed, content_type="application/json").status_code in (200, 201)
    save_slo(project, {"name": "runs succeed", "good": "runs.error_rate", "target": "90%"})
    save_slo(project, {"name": "runs are quick", "good": "runs.wall", "at_most": "1s", "target": "95%"})
    # Runs come in one minute of every sixth hour, which this rule fires at.
    told = {"name": "Runs come", "of": "runs.count", "above": "3", "window": "5m", "for": "0s", "severity": "info"}
    save_rule(project, told, days[3], evaluated_unix_ns=days[3])
    evaluate_due(days[4] + MINUTE_NS)

    report = make_report(project, WEEK, LATE_NS)

    assert [(d.service, d.version, str(d.at_unix_ns)) for d in report.deploys] == list(map(tuple, _deploys(looked)))
    assert ("support", "2.1", WEEK.days[2].isoformat()) in [(d.service, d.version, d.date) for d in report.deploys]
    whole = looked.number(f"{API}/summary?from={days[0]}&to={days[-1]}#total/runs")
    quick, succeed = report.slos
    assert (succeed.total, succeed.is_met, quick.is_met) == (whole["count"], True, False)
    assert succeed.share == pytest.approx(1 - whole["error_rate"])
    assert quick.total == whole["wall"]["count"]
    fired = looked.number(f"{API}/alerts?from_unix_ns={days[0]}&to_unix_ns={days[-1]}#alerts")
    lasted = sum(int(one["resolved_unix_ns"]) - int(one["fired_unix_ns"]) for one in fired)
    assert report.alerts == [AlertRow(rule="Runs come", severity="info", fired=len(fired), firing_ns=lasted)]
    assert len(fired) == Firing.objects.count() >= 3
    assert_in_every_form(looked.client, report)


def _deploys(looked: Looked) -> list[list[str]]:
    days = WEEK.day_bounds_ns(ZoneInfo("Europe/Zurich"))
    told = looked.number(f"{API}/deploys?from={days[0]}&to={days[-1]}#deploys")
    return [[one["service"], one["version"], one["at_unix_ns"]] for one in told]


def assert_in_every_form(client: Client, report: Any) -> None:
    sheet = write_sheet(report)
    rows = [*sheet.deploys, *sheet.alerts, *(row for row, _ in sheet.slos)]
    cells = [cell for row in rows for cell in row.cells[:2]] + [row.cells[2] for row, _ in sheet.slos]
    cells += [cell for row in sheet.alerts for cell in row.cells[2:4]]
    pdf = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(as_pdf(report))).pages)
    forms = {
        "page": client.get(f"/reports/{WEEK}").content.decode(), "text": as_text(report), "pdf": pdf,
        "mail": as_html(report, "http://x/"),
    }  # fmt: skip
    missing = {name: [cell for cell in cells if glued(cell) not in glued(body)] for name, body in forms.items()}
    assert missing == {"page": [], "text": [], "pdf": [], "mail": []}
    lines = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert {"deploys", "alerts"} <= {line["section"] for line in lines}
    for slo in report.slos:
        (line,) = [line for line in lines if line["of"] == slo.name]
        assert float(line["value"]) == slo.share
