"""The demo's engines are made known to the instance that its spans go to, and to no other."""

from __future__ import annotations

import pytest

from agents.demo.scraped import own_api, register


@pytest.mark.parametrize(
    ("endpoint", "environ", "api"),
    [
        ("http://127.0.0.1:4318", {}, "http://127.0.0.1:8000/api/v1/engines"),
        ("http://127.0.0.1:9318", {"SIXSTAGE_PORT": "9000"}, "http://127.0.0.1:9000/api/v1/engines"),
        ("http://127.0.0.1:9318", {}, None),
        ("https://sixstage.example.org", {"SIXSTAGE_PORT": "8000"}, None),
        ("http://[::1]:4318", {"SIXSTAGE_HOST": "::"}, "http://[::1]:8000/api/v1/engines"),
    ],
)
def test_it_is_the_instance_on_this_machine(endpoint: str, environ: dict[str, str], api: str | None) -> None:
    assert own_api(endpoint, environ) == api


async def test_where_nobody_answers_the_demo_goes_on() -> None:
    assert await register("http://127.0.0.1:1/api/v1/engines", ["a", "b"]) is False
    assert await register(None, []) is False
