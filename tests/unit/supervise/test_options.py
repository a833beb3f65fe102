"""The settings of `make up`: typed, and failing by name, all at once."""

import pytest

from dashboard.embedded import StartError
from dashboard.supervise.options import read_options


def test_nothing_given_is_the_embedded_default() -> None:
    options = read_options({})
    assert list(options.ports.values()) == [8000, 4318, 4317]
    assert options.url("SIXSTAGE_PORT") == "http://127.0.0.1:8000"
    assert options.environment()["SIXSTAGE_DATABASE_URL"].endswith(".data/run")


def test_every_fault_is_told_by_name() -> None:
    faulty = {"SIXSTAGE_MODE": "prod", "SIXSTAGE_PORT": "http", "SIXSTAGE_WORKERS": "0"}
    with pytest.raises(StartError) as told:
        read_options(faulty)
    assert str(told.value).splitlines() == [
        "SIXSTAGE_MODE='prod': expected embedded or production",
        "SIXSTAGE_PORT='http': expected a whole number from 1 to 65535",
        "SIXSTAGE_WORKERS='0': expected a whole number from 1 to 64",
    ]


def test_two_things_cannot_share_a_port() -> None:
    with pytest.raises(StartError, match="SIXSTAGE_OTLP_HTTP_PORT and SIXSTAGE_PORT are both 4318"):
        read_options({"SIXSTAGE_PORT": "4318"})


def test_production_starts_no_servers_of_its_own() -> None:
    with pytest.raises(StartError, match=r"SIXSTAGE_DATABASE_URL is not set(.|\n)*SIXSTAGE_REDIS_URL is not set"):
        read_options({"SIXSTAGE_MODE": "production"})


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:8000"), ("::", "http://[::1]:8000"), ("fe80::1", "http://[fe80::1]:8000")],
)
def test_the_banner_names_an_address_that_can_be_opened(host: str, url: str) -> None:
    assert read_options({"SIXSTAGE_HOST": host}).url("SIXSTAGE_PORT") == url
