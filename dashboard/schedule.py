"""What is done again and again, and how often. Whoever keeps time sends these by name: beat's own process
(``dashboard.scheduler``) or a worker (``dashboard.clock``)."""

from __future__ import annotations

from typing import Any

SCHEDULE: dict[str, dict[str, Any]] = {
    "sweep": {"task": "ingest.sweep", "schedule": 2.0, "options": {"expires": 10}},
    "observe": {"task": "ingest.observe", "schedule": 10.0, "options": {"expires": 20}},
    "count-up": {"task": "ingest.count_up", "schedule": 10.0, "options": {"expires": 20}},
    "roll-up": {"task": "ingest.roll_up", "schedule": 60.0, "options": {"expires": 60}},
    "train-dictionaries": {"task": "ingest.train_dictionaries", "schedule": 8.0, "options": {"expires": 20}},
    "evaluate-alerts": {"task": "alerts.evaluate", "schedule": 10.0, "options": {"expires": 20}},
    "send-alerts": {"task": "alerts.send", "schedule": 5.0, "options": {"expires": 10}},
    "send-reports": {"task": "reports.send", "schedule": 30.0, "options": {"expires": 60}},
    "keep-partitions": {"task": "ingest.keep_partitions", "schedule": 3600.0, "options": {"expires": 600}},
}
