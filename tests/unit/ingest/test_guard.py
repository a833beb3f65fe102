"""Who may address this instance, and from where."""

from __future__ import annotations

import pytest

from ingest.guard import refusal

OURS = ["localhost", "127.0.0.1", "[::1]", ".example.org"]


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", None),
        ("LOCALHOST", None),
        ("[::1]:4318", None),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("a.example.org", "https://a.example.org"),
        ("example.org", None),
    ],
)
def test_our_own_names_and_pages_pass(host: str, origin: str | None) -> None:
    assert refusal(host, origin, OURS) is None


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evilexample.org"]
)
def test_a_foreign_host_is_refused_and_told_what_to_set(host: str | None) -> None:
    assert "SIXSTAGE_ALLOWED_HOSTS" in (refusal(host, None, OURS) or "")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost:8001",
        "http://localhost",
        "file://",
        "https://localhost:8000.evil.example",
    ],
)
def test_a_foreign_origin_is_refused_even_with_our_host(origin: str) -> None:
    assert refusal("localhost:8000", origin, OURS) is not None
