"""Eight weeks with planted causes: each report names its cause, quiet weeks stay calm, and every number in every
sentence is what the API tells."""

from __future__ import annotations

import pytest

from dashboard.reports.core.values import State
from dashboard.reports.making import make_report
from ingest.models import Project
from tests.integration.reports.planted import eight_weeks
from tests.integration.reports.telling import Looked, check_sentences

pytestmark = pytest.mark.django_db
LATE_NS = 2 * 10**18


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_week_names_what_was_planted_and_quiet_ones_stay_calm(
    project: Project, looked: Looked, seed: int
) -> None:

    for week, plan in eight_weeks(project, seed):
        report = make_report(project, week, LATE_NS)
        assert check_sentences(report, looked) >= 2
        said = [s.text for s in (report.headline, *report.sentences)]
        if plan.cause is None:
            assert (report.state, len(said)) == (State.QUIET, 2), said
            continue
        assert report.state is State.CHANGED, (plan, said)
        assert plan.cause in report.headline.text, (plan, said)
        assert report.headline.tone == ("worse" if plan.slower else "better"), (plan, said)
        if plan.from_day:
            assert report.break_day == week.days[plan.from_day].isoformat(), (plan, report.days)
        if plan.cause == "research’s":
            assert not any(
                row.slower for movers in report.movers for row in movers.rows if movers.dimension == "service"
            )
