"""Prices: administrators of a project write its own, the instance's file those for all, and nobody sees another's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.models import Role
from ingest.models import PriceList
from tests.integration.access.scenes import Side

pytestmark = pytest.mark.django_db

OWN = {"model": "large-*", "from": "2026-03-01", "input_per_million": "2.50", "output_per_million": "10"}
AS_READ = OWN | {"input_per_million": "2.5", "cached_input_per_million": "2.5"}


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def put(client: Client, side: Side, currency: str | None = "EUR", *prices: Any) -> Any:
    body = json.dumps({"currency": currency, "prices": prices})
    return client.put(f"/api/v1/prices?project={side.project.slug}", body, content_type="application/json")


def test_an_administrator_replaces_the_projects_prices(alpha: Side, beta: Side) -> None:
    answer = put(signed_in(alpha.admin), alpha, "EUR", OWN)
    assert answer.status_code == 200, answer.content
    told = {"currency": "EUR", "zone": "UTC", "prices": [AS_READ], "for_all_projects": []}
    assert answer.json() == told
    assert signed_in(alpha.viewer).get("/api/v1/prices").json() == told
    assert signed_in(beta.viewer).get("/api/v1/prices").json()["prices"] == []
    again = put(signed_in(alpha.admin), alpha, told["currency"], *told["prices"])  # what was read can be written
    assert again.json() == told
    assert put(signed_in(alpha.admin), alpha, None).json() == told | {"currency": None, "prices": []}
    assert not PriceList.objects.exists()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
def test_others_do_not(alpha: Side, beta: Side, role: Role) -> None:
    alpha.project.memberships.filter(user=alpha.viewer).update(role=role)
    for client in (signed_in(alpha.viewer), Client(headers={"authorization": f"Bearer {alpha.token_secret}"})):
        refused = put(client, alpha, "EUR", OWN)
        assert (refused.status_code, "needs the role admin" in refused.json()["detail"]) == (403, True)
    assert put(signed_in(beta.admin), alpha, "EUR", OWN).status_code == 404
    assert put(Client(), alpha, "EUR", OWN).status_code == 401
    assert not PriceList.objects.exists()


@pytest.mark.parametrize(
    ("currency", "price", "said"),
    [
        ("euro", OWN, "expected three capital letters"), (None, OWN, "expected three capital letters"),
        ("EUR", OWN | {"from": "soon"}, "price 1 (large-*): from='soon': expected a date"),
        ("EUR", OWN | {"output_per_million": None}, "expected both"),
        ("EUR", OWN | {"output_per_million": "ten"}, "output_per_million='ten'"),
        ("EUR", OWN | {"output_per_million": "\u0665"}, "expected an amount"),
        ("EUR", OWN | {"model": "a\x00"}, "expected a model's name"), ("EUR", OWN | {"output": "1"}, "output"),
        ("EUR", OWN | {"output_per_million": 2.5}, "output_per_million"), ("EUR", "large", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read_changes_nothing(alpha: Side, currency: str | None, price: Any, said: str) -> None:
    client = signed_in(alpha.admin)
    put(client, alpha, "USD", OWN)
    refused = put(client, alpha, currency, price)
    assert refused.status_code == 422
    assert said in json.dumps(refused.json()["detail"]).replace('\\"', '"')
    assert client.get("/api/v1/prices").json()["currency"] == "USD"


def test_a_file_prices_all_projects(alpha: Side, beta: Side, tmp_path: Path, settings: Any) -> None:
    settings.SIXSTAGE_PRICES_FILE = file = tmp_path / "prices.toml"
    file.write_text('currency = "USD"\n[[price]]\nmodel = "*"\ninput_per_million = "1"\noutput_per_million = "2"\n')
    call_command("prepare")
    call_command("prepare")
    put(signed_in(beta.admin), beta, "EUR", OWN)
    common, own = (signed_in(side.viewer).get("/api/v1/prices").json() for side in (alpha, beta))
    assert [price["model"] for price in common["for_all_projects"]] == ["*"]
    assert (common["currency"], common["prices"]) == ("USD", [])
    assert (own["currency"], own["for_all_projects"]) == ("EUR", [])  # dollars and euros do not add up
    file.write_text('currency = "USD"\n[[price]]\nmodel = "*"\ninput_per_million = "1"\n')
    with pytest.raises(CommandError, match=r"SIXSTAGE_PRICES_FILE: .*prices\.toml: price 1 \(\*\): expected both"):
        call_command("prepare")
    file.unlink()
    with pytest.raises(CommandError, match=r"SIXSTAGE_PRICES_FILE: .*prices\.toml cannot be read"):
        call_command("prepare")
    assert PriceList.objects.filter(project=None).exists()
    settings.SIXSTAGE_PRICES_FILE = None
    call_command("prepare")
    assert not PriceList.objects.filter(project=None).exists()


def test_the_settings_page_edits_the_projects_own_prices(alpha: Side) -> None:
    client = signed_in(alpha.admin)
    typed = 'currency = "EUR"\n[[price]]\nmodel = "large-*"\nfrom = 2026-03-01\ninput_per_million = "2.50"\n'
    refused = client.post("/settings/prices", {"prices": typed})
    assert refused.status_code == 422
    assert "price 1 (large-*): expected both input_per_million and" in refused.content.decode()
    assert "2.50" in refused.content.decode()  # what was typed is still there
    assert client.post("/settings/prices", {"prices": typed + 'output_per_million = "10"\n'}).status_code == 302
    assert client.get("/api/v1/prices").json()["prices"] == [AS_READ]
    shown = client.get("/settings/").content.decode()
    assert "this project" in shown
    assert "2026-03-01" in shown
    assert client.post("/settings/prices", {"prices": ""}).status_code == 302
    assert "There is none, so no cost is known" in client.get("/settings/").content.decode()
