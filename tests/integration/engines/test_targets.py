"""Targets made and changed by page, API and file; secrets kept and never told; what may not be reached refused."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import Membership, ReadToken, Role
from ingest.engines import files
from ingest.engines.credentials import decrypt
from ingest.engines.targets import TargetRefused
from ingest.models import EngineTarget, Project
from tests.integration.engines.conftest import KEY

pytestmark = pytest.mark.django_db
URL = "http://10.1.2.3:8000/metrics"
API = "/api/v1/engines"


@pytest.fixture(autouse=True)
def open_instance(settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    settings.SIXSTAGE_EMBEDDED = False
    settings.SIXSTAGE_ALLOWED_TARGETS = []
    settings.SIXSTAGE_ENCRYPTION_KEY = KEY


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


def post(path: str, **told: Any) -> Any:
    return Client().post(path, json.dumps(told), content_type="application/json")


def patch(path: str, **told: Any) -> Any:
    return Client().patch(path, json.dumps(told), content_type="application/json")


def test_a_target_is_made_changed_and_removed_by_the_api(project: Project) -> None:
    made = post(API, url=URL, labels={"team": "search"}, interval_ms=10_000)
    assert made.status_code == 201
    engine = made.json()
    assert (engine["name"], engine["state"], engine["origin"], engine["kind"]) == (
        "10.1.2.3:8000",
        "new",
        "api",
        "auto",
    )
    path = f"{API}/{engine['id']}"
    assert patch(path, name="vllm-a", enabled=False).json()["state"] == "off"
    told = Client().get(path).json()
    assert (told["name"], told["labels"], told["interval_ms"]) == ("vllm-a", {"team": "search"}, 10_000)
    assert told["figures"] is None
    assert Client().delete(path).status_code == 204
    assert Client().get(path).status_code == 404


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": "http://169.254.169.254/"}, "link-local"),
        ({"url": "http://127.0.0.1:8000/metrics"}, "SIXSTAGE_ALLOWED_TARGETS"),
        ({"url": "http://localhost:8000/metrics"}, "SIXSTAGE_ALLOWED_TARGETS"),
        ({"url": "file:///etc/passwd"}, "http://"),
        ({"url": "http://u:p@10.0.0.1/"}, "credentials"),
        ({"url": URL, "kind": "ollama"}, "the kind is one of"),
        ({"url": URL, "interval_ms": 10}, "the interval"),
        ({"url": URL, "timeout_ms": 10**9}, "the time-out"),
        ({"url": URL, "name": ""}, "a name is"),
        ({"url": URL, "name": "a\x00b"}, "a name is"),
        ({"url": URL, "ca": "no certificate"}, "PEM"),
        ({"url": URL, "credentials": {"scheme": "magic", "secret": "x"}}, "credentials are one of"),
        ({"url": URL, "credentials": {"scheme": "header", "name": "X: y", "secret": "x"}}, "header"),
        ({"url": URL, "credentials": {"scheme": "bearer", "secret": "a\nb"}}, "visible"),
        ({"url": URL, "surprise": 1}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_what_may_not_be_is_refused_with_the_reason(project: Project, given: dict[str, Any], words: str | None) -> None:
    refused = post(API, **given)
    assert refused.status_code == 422
    assert words is None or words in refused.json()["detail"]
    assert not EngineTarget.objects.exists()


def test_a_name_is_taken_once(project: Project) -> None:
    assert post(API, url=URL, name="a").status_code == 201
    assert "already" in post(API, url=URL, name="a").json()["detail"]


def test_secrets_are_kept_encrypted_and_never_told(project: Project) -> None:
    secret = "s3cret-of-the-engine"
    made = post(API, url=URL, credentials={"scheme": "bearer", "secret": secret})
    target = EngineTarget.objects.get()
    kept = bytes(target.credentials)
    assert secret.encode() not in kept
    assert decrypt(kept, KEY).headers() == {"Authorization": f"Bearer {secret}"}
    pages = [made, Client().get(f"{API}/{target.pk}"), Client().get(f"/engines/{target.pk}"), Client().get("/engines")]
    assert [page for page in pages if secret.encode() in page.content] == []
    assert made.json()["has_credentials"] is True
    assert patch(f"{API}/{target.pk}", credentials={"scheme": "none"}).json()["has_credentials"] is False


def test_without_a_key_no_secret_is_taken(project: Project, settings: Any) -> None:
    settings.SIXSTAGE_ENCRYPTION_KEY = ""
    refused = post(API, url=URL, credentials={"scheme": "bearer", "secret": "x"})
    assert "SIXSTAGE_ENCRYPTION_KEY" in refused.json()["detail"]


def test_only_administrators_change_targets(project: Project, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = False
    viewer = User.objects.create_user("viewer")
    Membership.objects.create(project=project, user=viewer, role=Role.VIEWER)
    client = Client()
    client.force_login(viewer)
    _, token = ReadToken.issue(project, "reader")
    bearer = Client(headers={"authorization": f"Bearer {token}"})
    for one in (client, bearer):
        assert one.post(API, json.dumps({"url": URL}), content_type="application/json").status_code == 403
    assert client.post("/settings/engines", {"url": URL}).status_code == 403
    assert not EngineTarget.objects.exists()
    assert "Add an engine" not in client.get("/engines").content.decode()


def test_the_pages_form_adds_changes_and_removes(project: Project) -> None:
    client = Client()
    assert "No engine is scraped yet" in client.get("/engines").content.decode()
    client.post(
        "/settings/engines",
        {"url": URL, "name": "vllm-a", "kind": "vllm", "interval_s": "2.5", "scheme": "basic",
         "user": "u", "secret": "p"},
    )  # fmt: skip
    target = EngineTarget.objects.get()
    assert (target.interval_ms, target.kind, target.origin) == (2_500, "vllm", "page")
    path = f"/settings/engines/{target.pk}"
    client.post(path, {"url": URL, "name": "vllm-b", "scheme": "basic", "secret": "", "keep_secret": "yes",
                       "enabled": "no", "verify_tls": "no"})  # fmt: skip
    target.refresh_from_db()
    assert (target.name, target.enabled, target.tls["verify"]) == ("vllm-b", False, False)
    assert decrypt(bytes(target.credentials), KEY).secret == "p"
    refused = client.post(path, {"url": "http://[fe80::1]/", "name": "vllm-b"})
    assert refused.status_code == 422
    assert "link-local" in refused.content.decode()
    client.post(f"{path}/remove")
    assert not EngineTarget.objects.exists()


def applied(text: str) -> None:
    files.apply(textwrap.dedent(text))


def test_a_file_makes_changes_and_switches_off(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_TOKEN", "from the environment")
    applied("""
        [[target]]
        url = "http://10.1.2.3:8000/metrics"
        labels = { team = "search" }
        interval_s = 2
        credentials = { scheme = "bearer", secret_env = "VLLM_TOKEN" }
        [[target]]
        name = "sglang-a"
        url = "http://10.1.2.4:30000/metrics"
    """)
    first, second = EngineTarget.objects.order_by("name")
    assert (first.name, first.origin, first.interval_ms, first.labels) == (
        "10.1.2.3:8000",
        "file",
        2_000,
        {"team": "search"},
    )
    assert decrypt(bytes(first.credentials), KEY).secret == "from the environment"
    applied("""
        [[target]]
        name = "sglang-a"
        url = "http://10.1.2.5:30000/metrics"
    """)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.enabled, second.enabled, second.url) == (False, True, "http://10.1.2.5:30000/metrics")


@pytest.mark.parametrize(
    "text",
    [
        '[[target]]\nurl = "http://169.254.169.254/"',
        '[[target]]\nurl = "http://10.0.0.1/"\nsecret = "in git"',
        '[[target]]\nurl = "http://10.0.0.1/"\ncredentials = { secret = "in git" }',
        '[[target]]\nurl = "http://10.0.0.1/"\nproject = "nobody"',
        "target = 5", "[[target]]",
    ],
)  # fmt: skip
def test_a_file_with_a_fault_changes_nothing(project: Project, text: str) -> None:
    good = '[[target]]\nurl = "http://10.0.0.9/"\n'
    with pytest.raises((TargetRefused, ValueError)):
        files.apply(good + text if text.startswith("[[") else text)
    assert not EngineTarget.objects.exists()


def test_a_file_is_read_again_only_when_it_changes(project: Project, tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "engines.toml"
    files.read_if_changed(path)
    assert "stay as they were" in caplog.text
    path.write_text('[[target]]\nurl = "http://10.0.0.9/"\n')
    files.read_if_changed(path)
    EngineTarget.objects.update(name="changed by hand")
    files.read_if_changed(path)
    assert EngineTarget.objects.get().name == "changed by hand"
