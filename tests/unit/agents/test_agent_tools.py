"""A schema from a signature, and arguments checked against it."""

from typing import Any, Literal

import pytest

from agents.errors import MalformedArgumentsError
from agents.tools import tool


def search(
    query: str,
    limit: int = 5,
    kind: Literal["page", "file"] = "page",
    tags: list[str] | None = None,
    exact: bool = False,
    weight: float = 1.0,
) -> list[str]:
    """Search for something.

    More about it.
    """
    return [query] * limit


def test_the_schema_says_what_the_signature_says() -> None:
    function = tool(search).definition["function"]

    assert function["name"] == "search"
    assert function["description"].startswith("Search for something.")
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer"},
            "kind": {"enum": ["page", "file"]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "exact": {"type": "boolean"},
            "weight": {"type": "number"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        '{"query": "x"}',
        '{"query": "x", "weight": 2}',
        '{"query": "x", "tags": null}',
        '{"query":"","tags":["a"]}',
    ],
)
def test_arguments_that_fit_are_taken(arguments: str) -> None:
    assert "query" in tool(search).parse(arguments)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "needs query"),
        ('{"query": 1}', "query is 1"),
        ('{"query": "x", "limit": true}', "limit is true"),
        ('{"query": "x", "limit": 1.5}', "limit is 1.5"),
        ('{"query": "x", "kind": "folder"}', "kind is"),
        ('{"query": "x", "tags": [1]}', "tags is"),
        ('{"query": "x", "colour": 1}', "no argument colour"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_a_reason(arguments: str, why: str) -> None:
    with pytest.raises(MalformedArgumentsError, match=why):
        tool(search).parse(arguments)


async def test_a_plain_function_runs_too_and_its_result_becomes_json() -> None:
    assert await tool(search).run({"query": "ä", "limit": 2}) == '["ä", "ä"]'


def test_what_has_no_schema_is_refused_at_once() -> None:
    def untyped(x):
        return x

    def strange(x: set[int]) -> Any:
        return x

    def loose(*x: int) -> Any:
        return x

    for function in (untyped, strange, loose):
        with pytest.raises(TypeError):
            tool(function)
