"""Settings from the environment fail early, with the variable's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from dashboard.config import database_number, is_loopback, read_config

PRODUCTION = {
    "SIXSTAGE_MODE": "production",
    "SIXSTAGE_DATABASE_URL": "postgresql://db/sixstage",
    "SIXSTAGE_REDIS_URL": "redis://cache",
    "SIXSTAGE_SECRET_KEY": "k" * 60,
    "SIXSTAGE_PUBLIC_URL": "https://sixstage.example.org/",
    "SIXSTAGE_ALLOWED_HOSTS": "sixstage.example.org, otlp.example.org",
}


def embedded(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"SIXSTAGE_DATA_DIR": str(tmp_path), **more}


def test_nothing_given_is_an_open_instance_on_this_machine(tmp_path: Path) -> None:
    config = read_config(embedded(tmp_path))
    assert (config.mode, config.host, config.port, config.otlp_http_port, config.otlp_grpc_port) == (
        "embedded", "127.0.0.1", 8000, 4318, 4317,
    )  # fmt: skip
    assert config.open
    assert config.public_url == "http://127.0.0.1:8000"


def test_bound_to_other_addresses_it_is_not_open(tmp_path: Path) -> None:
    assert not read_config(embedded(tmp_path, SIXSTAGE_HOST="0.0.0.0")).open


def test_log_lines_are_for_people_here_and_for_machines_in_production(tmp_path: Path) -> None:
    assert read_config(embedded(tmp_path)).log_format == "text"
    assert read_config(PRODUCTION).log_format == "json"
    assert read_config(PRODUCTION | {"SIXSTAGE_LOG_FORMAT": "text"}).log_format == "text"


def test_production_is_never_open() -> None:
    config = read_config(PRODUCTION)
    assert not config.open
    assert config.allowed_hosts == ["sixstage.example.org", "otlp.example.org"]
    assert config.public_url == "https://sixstage.example.org"


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL", "ALLOWED_HOSTS"])
def test_production_names_what_is_missing(name: str) -> None:
    values = {key: value for key, value in PRODUCTION.items() if key != f"SIXSTAGE_{name}"}
    with pytest.raises(ImproperlyConfigured, match=f"SIXSTAGE_{name}"):
        read_config(values)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("MODE", "prod", "embedded, production"),
        ("PORT", "eighty", "from 1 to 65535"),
        ("PORT", "70000", "from 1 to 65535"),
        ("TRACE_IDLE_S", "0", "from 1 to"),
        ("MAX_ATTRIBUTE_BYTES", "10", "from 1024 to"),
        ("MIN_FREE_BYTES", "1GiB", "a whole number"),
        ("BEHIND_PROXY", "maybe", "true or false"),
        ("LOG_FORMAT", "xml", "json, text"),
    ],
)
def test_a_value_that_cannot_be_read_fails_by_name(tmp_path: Path, name: str, value: str, expected: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=rf"SIXSTAGE_{name}='{value}'.*{expected}"):
        read_config(embedded(tmp_path, **{f"SIXSTAGE_{name}": value}))


def test_only_the_disk_of_an_embedded_database_is_watched(tmp_path: Path) -> None:
    assert read_config(embedded(tmp_path)).disk_path == tmp_path
    assert read_config(embedded(tmp_path, SIXSTAGE_DATABASE_URL="postgresql://db/sixstage")).disk_path is None
    assert read_config(PRODUCTION).disk_path is None


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    first, second = (read_config(embedded(tmp_path)).secret_key for _ in range(2))
    assert first == second
    assert len(first) >= 40


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("sixstage.local", False)],
)  # fmt: skip
def test_only_loopback_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("redis_url", "number"),
    [("unix:///v.sock", "0"), ("unix:///v.sock?db=3", "3"), ("redis://cache", "0"), ("redis://cache:6379/2", "2")],
)
def test_the_database_of_a_redis_url_is_told(redis_url: str, number: str) -> None:
    assert database_number(redis_url) == number


def test_a_file_of_prices_is_found_wherever_a_process_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_config(embedded(tmp_path)).prices_file is None
    assert read_config(embedded(tmp_path, SIXSTAGE_PRICES_FILE="prices.toml")).prices_file == tmp_path / "prices.toml"
