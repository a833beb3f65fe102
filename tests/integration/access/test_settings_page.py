"""The settings page: administrators change their project, others look; a secret is shown exactly once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import Membership, ReadToken, Role
from ingest.models import IngestKey, Project
from ingest.models.project import secret_digest
from tests.integration.access.scenes import Side

pytestmark = pytest.mark.django_db

CHANGES = [
    ("project", {"name": "Other", "zone": "Europe/Paris"}),
    ("limits", {"spans_per_s": "500", "mib_per_day": "", "keep_payload": "yes"}),
    ("prices", {"prices": 'currency = "EUR"\n[[price]]\nmodel = "m"'}),
    ("projects", {"slug": "gamma", "name": "Gamma", "zone": "UTC"}),
    ("keys", {"name": "another"}),
    ("tokens", {"name": "another"}),
    ("members", {"username": "newcomer", "role": "viewer"}),
    ("keys/{key_id}/revoke", {}),
    ("tokens/{token_id}/revoke", {}),
    ("members/{user_id}/role", {"role": "editor"}),
    ("members/{user_id}/remove", {}),
]


@pytest.fixture
def newcomer(db: None) -> User:
    return User.objects.create_user("newcomer")


def signed_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def post(side: Side, client: Client, path: str, **data: str) -> Any:
    return client.post(f"/settings/{path.format(**side.parameters)}?project={side.project.slug}", data)


def counts() -> list[int]:
    return [model.objects.count() for model in (Project, IngestKey, ReadToken, Membership)]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
@pytest.mark.parametrize(("path", "data"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
def test_only_administrators_change_anything(
    alpha: Side, newcomer: User, role: Role, path: str, data: dict[str, str]
) -> None:
    alpha.project.memberships.filter(user=alpha.viewer).update(role=role)
    before = counts()
    for client in (signed_in(alpha.viewer), Client(headers={"authorization": f"Bearer {alpha.token_secret}"})):
        assert post(alpha, client, path, **data).status_code == 403
    assert counts() == before
    alpha.key.refresh_from_db()
    assert alpha.key.revoked_at is None


@pytest.mark.parametrize(("path", "data"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
def test_an_administrator_does(alpha: Side, newcomer: User, path: str, data: dict[str, str]) -> None:
    assert post(alpha, signed_in(alpha.admin), path, **data).status_code in (200, 302)


@pytest.mark.parametrize(("path", "data"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_form_of_another_site_changes_nothing(alpha: Side, newcomer: User, path: str, data: dict[str, str]) -> None:
    assert post(alpha, signed_in(alpha.admin, enforce_csrf_checks=True), path, **data).status_code == 403


def test_a_viewer_is_told_so_and_shown_no_keys(alpha: Side) -> None:
    page = signed_in(alpha.viewer).get("/settings/").content.decode()
    assert "You are a viewer" in page
    assert alpha.key.name not in page
    assert alpha.admin.username not in page
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in page


def test_a_key_is_shown_once_works_and_is_kept_as_a_digest(alpha: Side) -> None:
    client = signed_in(alpha.admin)
    response = post(alpha, client, "keys", name="<b>checkout</b>")
    (secret,) = set(re.findall(r"sxi_[\w-]{40,}", response.content.decode()))
    assert "no-store" in response.headers["cache-control"]
    assert IngestKey.objects.get(digest=secret_digest(secret)).project == alpha.project
    page = client.get("/settings/").content.decode()
    assert secret not in page
    assert secret[:8] in page
    assert "<b>checkout</b>" not in page


def test_a_token_is_shown_once_and_reads(alpha: Side) -> None:
    client = signed_in(alpha.admin)
    response = post(alpha, client, "tokens", name="a report")
    (secret,) = set(re.findall(r"sxr_[\w-]{40,}", response.content.decode()))
    reader = Client(headers={"authorization": f"Bearer {secret}"})
    assert reader.get(f"/api/v1/runs/{alpha.run_id}").status_code == 200
    assert secret not in client.get("/settings/").content.decode()


def test_what_is_revoked_ends_and_stays_listed(alpha: Side) -> None:
    client = signed_in(alpha.admin)
    post(alpha, client, "tokens/{token_id}/revoke")
    post(alpha, client, "keys/{key_id}/revoke")
    assert Client(headers={"authorization": f"Bearer {alpha.token_secret}"}).get("/api/v1/runs").status_code == 401
    page = client.get("/settings/").content.decode()
    assert page.count("Revoked") == 2
    alpha.key.refresh_from_db()
    ended_at = alpha.key.revoked_at
    post(alpha, client, "keys/{key_id}/revoke")
    alpha.key.refresh_from_db()
    assert alpha.key.revoked_at == ended_at is not None


@pytest.mark.parametrize("path", ["members/{user_id}/remove", "members/{user_id}/role"])
def test_the_last_administrator_stays(alpha: Side, path: str) -> None:
    client = signed_in(alpha.admin)
    address = path.format(user_id=alpha.admin.pk)
    response = post(alpha, client, address, role="viewer")
    assert response.status_code == 422
    assert "is the last administrator" in response.content.decode()
    post(alpha, client, "members/{user_id}/role", role="admin")
    assert post(alpha, client, address, role="viewer").status_code == 302
    assert alpha.project.memberships.filter(role=Role.ADMIN).count() == 1


def test_the_creator_of_a_project_administers_it(alpha: Side) -> None:
    client = signed_in(alpha.admin)
    response = post(alpha, client, "projects", slug="gamma", name="Gamma", zone="Asia/Tokyo")
    assert response.url == "/settings/?project=gamma"
    assert "Create key" in client.get(response.url).content.decode()
    assert signed_in(alpha.viewer).get(response.url).status_code == 404


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        ("project", {"name": " ", "zone": "UTC"}, "A name is needed"),
        ("project", {"name": "x" * 300, "zone": "UTC"}, "at most 200"),
        ("project", {"name": "Alpha", "zone": "Mars/Olympus"}, "is no time zone"),
        ("project", {"name": "Alpha", "zone": "../../etc/passwd"}, "is no time zone"),
        ("limits", {"spans_per_s": "many"}, "is a whole number from 1"),
        ("limits", {"spans_per_s": "0"}, "or empty for no limit"),
        ("limits", {"spans_per_s": "10", "mib_per_day": "-3"}, "MiB a day is a whole number"),
        ("limits", {"spans_per_s": "²"}, "is a whole number"),
        ("projects", {"slug": "alpha", "name": "Again"}, "is taken"),
        ("projects", {"slug": "two words", "name": "Two"}, "letters, digits, hyphens"),
        ("projects", {"slug": "x" * 60, "name": "Long"}, "at most 50"),
        ("projects", {"slug": "a\x00b", "name": "NUL"}, "letters, digits, hyphens"),
        ("keys", {"name": ""}, "A name is needed"),
        ("keys", {"name": "\x00"}, "A name is needed"),
        ("members", {"username": "nobody\x00", "role": "viewer"}, "There is no user"),
        ("members", {"username": "viewer-of-alpha", "role": "admin"}, "is a member already"),
        ("members", {"username": "viewer-of-alpha", "role": "owner"}, "A role is one of"),
        ("members/999999/remove", {}, "is not a member any more"),
    ],
)
def test_a_change_that_breaks_a_rule_is_refused_in_words(alpha: Side, path: str, data: dict, said: str) -> None:
    before = counts()
    response = post(alpha, signed_in(alpha.admin), path, **data)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert counts() == before


def test_on_an_open_instance_anyone_here_administers(alpha: Side, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    assert "Create key" in Client().get("/settings/?project=alpha").content.decode()
    assert post(alpha, Client(), "projects", slug="gamma", name="Gamma").status_code == 302
    assert Project.objects.get(slug="gamma").memberships.count() == 0


def test_limits_are_set_shown_and_taken_away(alpha: Side) -> None:
    client = signed_in(alpha.admin)
    post(alpha, client, "limits", spans_per_s="500", mib_per_day="2048", keep_payload="no")
    alpha.project.refresh_from_db()
    known = alpha.project.spans_per_s, alpha.project.bytes_per_day, alpha.project.keep_payload
    assert known == (500, 2048 << 20, False)
    page = client.get("/settings/").content.decode()
    assert 'value="500"' in page
    assert 'value="2048"' in page
    assert '<option value="no" selected>' in page
    post(alpha, client, "limits", spans_per_s="", mib_per_day=" ", keep_payload="yes")
    alpha.project.refresh_from_db()
    known = alpha.project.spans_per_s, alpha.project.bytes_per_day, alpha.project.keep_payload
    assert known == (None, None, True)


def test_an_address_out_of_the_history_leads_back(alpha: Side) -> None:
    response = signed_in(alpha.admin).get(f"/settings/keys/{alpha.key.pk}/revoke")
    assert response.url == "/settings/?project=alpha"
    alpha.key.refresh_from_db()
    assert alpha.key.revoked_at is None


@pytest.fixture
def with_password(alpha: Side, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is meant to be slow
    alpha.viewer.set_password("correct horse battery")
    alpha.viewer.save()


def test_signing_in_and_out(alpha: Side, with_password: None) -> None:
    client = Client()
    sent_away = client.get("/runs?project=alpha&q=x")
    form = {"username": alpha.viewer.username, "password": "wrong"}
    assert client.post(sent_away.url, form).status_code == 200
    arrived = client.post(sent_away.url, form | {"password": "correct horse battery"})
    assert arrived.url == "/runs?project=alpha&q=x"
    assert client.get(arrived.url).status_code == 200
    client.post("/logout")
    assert client.get("/runs").status_code == 302


def test_signing_in_leads_to_no_other_site(alpha: Side, with_password: None) -> None:
    form = {"username": alpha.viewer.username, "password": "correct horse battery"}
    assert Client().post("/login?next=https://evil.example/", form).url == "/live"
