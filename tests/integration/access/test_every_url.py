"""Every URL there is, visited as a stranger, as a member of another project, and with every kind of secret.

The routes come from Django's resolver, so a new page or API route is covered without an edit here.
"""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.utils import timezone

from ingest.models import Run
from tests.integration.access.scenes import PARAMETER, Side, filled, has_parameters, routes
from tests.integration.access.stored import SECRET_WORD

pytestmark = pytest.mark.django_db

# What strangers may see. The API's description and its page are not among it: nobody needs them before a log-in.
PUBLIC = {"/healthz", "/readyz", "/login", "/logout"}
CLOSED = [route for route in routes() if route not in PUBLIC]
METHODS = ("get", "post", "put", "delete")


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


def refused(route: str, response: Any) -> bool:
    """Whether a stranger was turned away in the way that suits the address, with nothing shown."""
    if SECRET_WORD.encode() in response.content:
        return False
    if route.startswith("/api/") or route == "/metrics":
        return response.status_code == 401
    return response.status_code == 302 and response.url.startswith("/login?next=")


def test_a_stranger_is_sent_to_the_log_in(alpha: Side) -> None:
    visits = [
        (route, method, getattr(Client(), method)(filled(route, alpha))) for route in CLOSED for method in METHODS
    ]
    assert [visit for visit in visits if not refused(visit[0], visit[2])] == []


def test_what_is_public_shows_no_data(alpha: Side) -> None:
    for route in PUBLIC:
        for method in METHODS:
            assert SECRET_WORD.encode() not in getattr(Client(), method)(route).content


@pytest.mark.parametrize("secret", ["an ingest key", "a guess", "a revoked token"])
def test_it_takes_a_valid_token_to_read(alpha: Side, secret: str) -> None:
    alpha.token.revoked_at = timezone.now()
    alpha.token.save()
    secrets = {"an ingest key": alpha.key_secret, "a guess": "sxr_a-guess", "a revoked token": alpha.token_secret}
    client = bearer(secrets[secret])
    visits = [(route, client.get(filled(route, alpha))) for route in CLOSED]
    assert [visit for visit in visits if not refused(*visit)] == []


def test_a_deactivated_user_is_a_stranger(alpha: Side) -> None:
    client = member(alpha.admin)
    alpha.admin.is_active = False
    alpha.admin.save()
    visits = [(route, client.get(filled(route, alpha))) for route in CLOSED]
    assert [visit for visit in visits if not refused(*visit)] == []


@pytest.mark.parametrize("who", ["admin", "token"])
def test_a_member_of_another_project_sees_and_changes_nothing_of_this_one(alpha: Side, beta: Side, who: str) -> None:
    client = member(beta.admin) if who == "admin" else bearer(beta.token_secret)
    wrong = []
    for route in CLOSED:
        address = filled(route, alpha)
        for method in METHODS:
            response = getattr(client, method)(address)
            if tells(response, address) or (has_parameters(route) and response.status_code == 200):
                wrong.append((method, address, response))
            named = getattr(client, method)(f"{address}?project=alpha")
            if named.status_code != 404 or tells(named, address):
                wrong.append((method, address, named))
    assert wrong == []
    assert_untouched(alpha)


def whole(response: Any) -> bytes:
    """What an answer says, all of it, even if it says it bit by bit."""

    async def heard() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])

    return async_to_sync(heard)() if response.streaming else response.content


def tells(response: Any, address: str) -> bool:
    """Whether an answer holds anything of the project called alpha, but for what the address itself said."""
    return b"%s alpha" % SECRET_WORD.encode() in whole(response).replace(address.encode(), b"")


def test_lists_and_charts_of_another_project_hold_none_of_these_runs(alpha: Side, beta: Side) -> None:
    Run.objects.filter(project_id=beta.project.pk).delete()
    client = bearer(beta.token_secret)
    lists = [route for route in CLOSED if not has_parameters(route)]
    shown = [route for route in lists if f"{SECRET_WORD} run".encode() in client.get(route).content]
    assert shown == []
    assert client.get("/api/v1/runs").json()["runs"] == []


def assert_untouched(side: Side) -> None:
    for owned in (side.project, side.key, side.token):
        owned.refresh_from_db()
    assert side.project.name == f"{SECRET_WORD} {side.project.slug}"
    assert side.key.revoked_at is side.token.revoked_at is None
    assert sorted(side.project.memberships.values_list("role", flat=True)) == ["admin", "viewer"]


def test_a_member_without_a_project_sees_nothing(alpha: Side, django_user_model: Any) -> None:
    client = member(django_user_model.objects.create_user("newcomer"))
    visits = [(route, client.get(filled(route, alpha))) for route in CLOSED]
    assert [visit for visit in visits if visit[1].status_code != 404] == []


def test_its_own_members_see_it(alpha: Side, beta: Side) -> None:
    read = [route for route in CLOSED if has_parameters(route) and "settings" not in route]
    for client in (member(alpha.viewer), member(alpha.admin), bearer(alpha.token_secret)):
        visits = [(route, client.get(filled(route, alpha))) for route in read]
        assert [v for v in visits if v[1].status_code != 200 or SECRET_WORD.encode() not in whole(v[1])] == []


@pytest.mark.parametrize("strange", ["0", "f" * 32, "\x00", "%FF", "a" * 2000, "-1", "9" * 40])
def test_ids_that_are_none_are_not_found(alpha: Side, strange: str) -> None:
    client = member(alpha.viewer)
    visits = [(route, client.get(PARAMETER.sub(lambda _: strange, route))) for route in CLOSED if has_parameters(route)]
    assert [visit for visit in visits if visit[1].status_code not in (302, 404)] == []


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
