"""Settings that start but should not be left so are told by ``manage.py check``, with an id and a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard.checks import check_instance, problems_of
from dashboard.config import read_config

KEY = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
PRODUCTION = {
    "SIXSTAGE_MODE": "production",
    "SIXSTAGE_HOST": "0.0.0.0",
    "SIXSTAGE_DATABASE_URL": "postgresql://db/sixstage",
    "SIXSTAGE_REDIS_URL": "redis://cache",
    "SIXSTAGE_SECRET_KEY": KEY,
    "SIXSTAGE_PUBLIC_URL": "https://sixstage.example.org",
    "SIXSTAGE_ALLOWED_HOSTS": "sixstage.example.org",
}


def ids(**changes: str) -> list[str | None]:
    return [problem.id for problem in problems_of(read_config(PRODUCTION | changes))]


def test_a_sound_production_has_no_problems() -> None:
    assert ids() == []


def test_an_embedded_instance_has_none_by_default(tmp_path: Path) -> None:
    assert problems_of(read_config({"SIXSTAGE_DATA_DIR": str(tmp_path)})) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"SIXSTAGE_SECRET_KEY": "short"}, "dashboard.E001"),
        ({"SIXSTAGE_SECRET_KEY": "x" * 60}, "dashboard.E001"),
        ({"SIXSTAGE_ALLOWED_HOSTS": "*"}, "dashboard.E002"),
        ({"SIXSTAGE_PUBLIC_URL": "http://sixstage.example.org"}, "dashboard.W001"),
        ({"SIXSTAGE_HOST": "127.0.0.1"}, "dashboard.W002"),
    ],
)
def test_each_bad_combination_has_its_id(changes: dict[str, str], problem: str) -> None:
    assert ids(**changes) == [problem]


def test_every_problem_says_what_to_do() -> None:
    bad = PRODUCTION | {
        "SIXSTAGE_SECRET_KEY": "x",
        "SIXSTAGE_ALLOWED_HOSTS": "*",
        "SIXSTAGE_PUBLIC_URL": "http://a",
    }
    found = problems_of(read_config(bad))
    assert len(found) == 3
    assert all(problem.hint for problem in found)


def test_an_instance_without_log_in_cannot_be_bound_to_other_addresses(tmp_path: Path, settings: Any) -> None:
    config = read_config({"SIXSTAGE_DATA_DIR": str(tmp_path), "SIXSTAGE_HOST": "0.0.0.0"})
    assert not config.open
    settings.SIXSTAGE_OPEN, settings.SIXSTAGE_HOST = True, "0.0.0.0"  # as only code could
    assert "dashboard.E005" in [problem.id for problem in check_instance()]


def test_what_only_code_could_have_changed_is_told_too(settings: Any) -> None:
    settings.DEBUG = True
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    assert {"dashboard.E003", "dashboard.E004"} <= {problem.id for problem in check_instance()}
