"""What the API says of every stored run, as JSON by path. SIXSTAGE_DATABASE_URL tells of which database.

    python -m tests.tools.answers              as it is
    python -m tests.tools.answers --upgrade    a list: once it is migrated, and once its runs are computed again
"""

from __future__ import annotations

import json
import os
import sys

import django
from django.core.management import call_command
from django.test import Client

from tests.polling import until

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

LIST = "/api/v1/runs?limit=500"


def read_answers() -> dict[str, object]:
    """The list of runs and each run whole, by path. Raises AssertionError where one is refused."""
    client, answers = Client(headers={"host": "localhost"}), dict[str, object]()

    def ask(path: str) -> dict[str, list[dict[str, str]]]:
        answer = client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.content[:500]!r}"
        answers[path] = answer.json()
        return answer.json()  # type: ignore[no-any-return]

    for run in ask(LIST)["runs"]:
        ask(f"/api/v1/runs/{run['run_id']}")
    return answers


def upgrade() -> list[dict[str, object]]:
    """Migrate, then have all computed again, the old rows taken back; each time what the API then says. The rollups
    are held against the rows both times: ends with an error where they differ."""
    from ingest.models import DirtyTrace
    from ingest.tasks import decompose_traces

    call_command("migrate", stdout=sys.stderr)
    call_command("verify_rollups", stdout=sys.stderr)
    migrated = read_answers()
    call_command("recompute", stdout=sys.stderr)
    assert DirtyTrace.objects.exists(), "there was nothing to compute again"
    until(lambda: (decompose_traces(), not DirtyTrace.objects.exists())[1], 30, "all is computed again")
    call_command("verify_rollups", stdout=sys.stderr)
    return [migrated, read_answers()]


if __name__ == "__main__":
    django.setup()
    json.dump(upgrade() if "--upgrade" in sys.argv else read_answers(), sys.stdout)
