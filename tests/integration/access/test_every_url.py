"""Every URL there is, visited as a stranger, as a member of another project, and with every kind of secret.

The routes come from Django's resolver, so a new page or API route is covered without an edit here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.integration.access.scenes import Side, filled, has_parameters, make_side, routes
from tests.integration.access.stored import SECRET_WORD

pytestmark = pytest.mark.django_db

# What strangers may see. The API's description and its page are not among it: nobody needs them before a log-in.
PUBLIC = {"/healthz", "/readyz", "/login", "/logout"}
CLOSED = [route for route in routes() if route not in PUBLIC]
METHODS = ("get", "post", "put", "delete")


@pytest.fixture
def alpha(db: None, settings: Any) -> Iterator[Side]:
    settings.SIXSTAGE_OPEN = False
    return make_side("alpha")


@pytest.fixture
def beta(db: None) -> Side:
    return make_side("beta")


def bearer(secret: str) -> Client:
    return Client(headers={"authorization": f"Bearer {secret}"})


def member(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_walk_finds_pages_and_api_alike() -> None:
    assert {"/healthz", "/live", "/runs/<str:run_id>", "/api/v1/openapi.json", "/api/v1/docs"} <= set(routes())
    assert [route for route in routes() if route.startswith("/api/v1/traces/")]


def test_what_is_public_exists() -> None:
    assert set(routes()) >= PUBLIC


@pytest.mark.parametrize("route", CLOSED)
def test_a_stranger_is_sent_to_the_log_in(alpha: Side, route: str) -> None:
    for method in METHODS:
        response = getattr(Client(), method)(filled(route, alpha))
        if route.startswith("/api/"):
            assert response.status_code == 401, method
        else:
            assert response.status_code == 302, method
            assert response.url.startswith("/login?next=")
        assert SECRET_WORD.encode() not in response.content


@pytest.mark.parametrize("route", sorted(PUBLIC))
def test_what_is_public_shows_no_data(alpha: Side, route: str) -> None:
    for method in METHODS:
        assert SECRET_WORD.encode() not in getattr(Client(), method)(route).content


@pytest.mark.parametrize("secret", ["key_secret", "wrong"])
@pytest.mark.parametrize("route", CLOSED)
def test_an_ingest_key_and_a_guess_read_nothing(alpha: Side, route: str, secret: str) -> None:
    client = bearer(getattr(alpha, secret, "sxr_a-guess"))
    response = client.get(filled(route, alpha))
    assert response.status_code == (401 if route.startswith("/api/") else 302)
    assert SECRET_WORD.encode() not in response.content


@pytest.mark.parametrize("who", ["admin", "token"])
@pytest.mark.parametrize("route", CLOSED)
def test_a_member_of_another_project_sees_nothing_of_this_one(alpha: Side, beta: Side, route: str, who: str) -> None:
    client = member(beta.admin) if who == "admin" else bearer(beta.token_secret)
    address = filled(route, alpha)
    for method in METHODS:
        response = getattr(client, method)(address)
        if has_parameters(route):
            assert response.status_code in (302, 403, 404, 405, 422), method
            assert method != "get" or not route.startswith("/api/") or response.status_code == 404
        assert b"alpha" not in response.content.replace(address.encode(), b""), method
        named = getattr(client, method)(f"{address}?project=alpha")
        assert named.status_code == 404, method
        assert SECRET_WORD.encode() not in named.content
    assert_untouched(alpha)


def assert_untouched(side: Side) -> None:
    for owned in (side.project, side.key, side.token):
        owned.refresh_from_db()
    assert side.project.name == f"{SECRET_WORD} {side.project.slug}"
    assert side.key.revoked_at is side.token.revoked_at is None
    assert sorted(side.project.memberships.values_list("role", flat=True)) == ["admin", "viewer"]


@pytest.mark.parametrize("route", CLOSED)
def test_a_member_without_a_project_sees_nothing(alpha: Side, route: str, django_user_model: Any) -> None:
    client = member(django_user_model.objects.create_user("newcomer"))
    response = client.get(filled(route, alpha))
    assert response.status_code == 404
    assert SECRET_WORD.encode() not in response.content


@pytest.mark.parametrize("route", CLOSED)
def test_a_revoked_token_and_a_deactivated_user_are_strangers(alpha: Side, route: str) -> None:
    alpha.token.revoked_at = timezone.now()
    alpha.token.save()
    client = member(alpha.admin)
    alpha.admin.is_active = False
    alpha.admin.save()
    for stranger in (bearer(alpha.token_secret), client):
        assert stranger.get(filled(route, alpha)).status_code == (401 if route.startswith("/api/") else 302)


@pytest.mark.parametrize("route", [route for route in CLOSED if has_parameters(route) and "settings" not in route])
def test_its_own_members_see_it(alpha: Side, beta: Side, route: str) -> None:
    for client in (member(alpha.viewer), member(alpha.admin), bearer(alpha.token_secret)):
        response = client.get(filled(route, alpha))
        assert response.status_code == 200
        assert SECRET_WORD.encode() in response.content


@pytest.mark.parametrize("route", [route for route in CLOSED if has_parameters(route)])
def test_ids_that_are_none_are_not_found(alpha: Side, route: str) -> None:
    client = member(alpha.viewer)
    for strange in ("0", "f" * 32, "\x00", "%FF", "a" * 2000, "-1", "9" * 40):
        address = route
        for name in alpha.parameters:
            for kind in ("int", "str"):
                address = address.replace(f"<{kind}:{name}>", strange)
            address = address.replace(f"<{name}>", strange)
        assert client.get(address).status_code in (302, 404), strange


def test_a_superuser_sees_every_project(alpha: Side, beta: Side, django_user_model: Any) -> None:
    client = member(django_user_model.objects.create_superuser("root"))
    for side in (alpha, beta):
        assert client.get(f"/api/v1/runs/{side.run_id}?project={side.project.slug}").status_code == 200


def test_an_open_instance_asks_nobody(alpha: Side, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    assert Client().get(f"/api/v1/runs/{alpha.run_id}").status_code == 200
    assert Client().get("/live").status_code == 200


@pytest.mark.parametrize("slug", ["\x00", "a" * 5000, "../alpha", "ALPHA", " alpha"])
def test_a_strange_project_is_not_found(alpha: Side, slug: str) -> None:
    assert member(alpha.viewer).get("/live", {"project": slug}).status_code == 404
