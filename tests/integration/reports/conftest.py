from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from ingest.models import Project
from tests.integration.reports.telling import Looked


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha", zone="Europe/Zurich")


@pytest.fixture
def looked(settings: Any) -> Looked:
    settings.SIXSTAGE_OPEN = True
    return Looked(Client())
