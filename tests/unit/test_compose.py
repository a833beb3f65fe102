"""The production layout names things that exist. No container engine is needed to know that."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboard.supervise.options import read_options
from dashboard.supervise.programs import app_programs, set_up_program

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
OWN = {name: service for name, service in SERVICES.items() if service.get("build")}


def test_it_has_every_process_of_make_up_and_a_clock_beside_its_workers() -> None:
    apps = {program.name for program in app_programs(read_options({}), {})}
    assert set(SERVICES) == {"postgres", "valkey", "migrate", "beat"} | apps
    # There may be several workers here, and one clock: so none of them keeps time, as make up's does.
    assert "--clock" not in OWN["worker"]["command"]
    assert OWN["beat"]["command"][:4] == ["python", "-m", "dashboard.work", "beat"]


@pytest.mark.parametrize("name", sorted(set(OWN) - {"migrate", "beat"}))
def test_each_process_runs_the_same_module_as_make_up(name: str) -> None:
    command = OWN[name]["command"]
    program = next(program for program in app_programs(read_options({}), {}) if program.name == name)
    assert command[:3] == ["python", *program.argv[1:3]]
    assert importlib.util.find_spec(command[2]) is not None


def test_the_set_up_is_that_of_make_up() -> None:
    assert OWN["migrate"]["command"] == ["python", *set_up_program({}).argv[1:]]
    assert importlib.util.find_spec("dashboard.set_up") is not None


@pytest.mark.parametrize("name", OWN)
def test_each_process_waits_for_what_it_needs_and_is_told_all_by_name(name: str) -> None:
    service = OWN[name]
    needs = {"postgres", "valkey"} if name == "migrate" else {"migrate"}
    assert set(service["depends_on"]) == needs
    assert service["environment"]["SIXSTAGE_MODE"] == "production"
    required = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL", "ALLOWED_HOSTS"}
    assert {f"SIXSTAGE_{variable}" for variable in required} <= set(service["environment"])


def test_no_secret_stands_in_it() -> None:
    for service in SERVICES.values():
        for name, value in service["environment"].items() if "environment" in service else ():
            if re.search("PASSWORD|SECRET|KEY", name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name} has to come from outside"
    assert "${POSTGRES_PASSWORD" in OWN["web"]["environment"]["SIXSTAGE_DATABASE_URL"]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate", "beat"}))
def test_whatever_serves_has_a_health_check(name: str) -> None:
    check = SERVICES[name]["healthcheck"]["test"]
    if check[:2] == ["CMD", "python"]:
        assert importlib.util.find_spec(check[3]) is not None


def test_the_image_installs_by_hash() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes -r requirements.lock" in dockerfile
