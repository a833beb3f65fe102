"""Typed functions as tools: the schema comes from the signature, and arguments are checked against it.

@tool
async def look_up_order(order_id: str, with_items: bool = False) -> dict[str, str]:
    '''Find an order by its number.'''
"""

from __future__ import annotations

import asyncio
import inspect
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from agents.errors import MalformedArgumentsError

_JSON_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True)
class Tool:
    """A function that a model may ask for. ``timeout_s`` overrides the agent's own limit."""

    name: str
    description: str
    function: Callable[..., Any]
    parameters: dict[str, Any]
    timeout_s: float | None = None
    checked: bool = True
    """False: only that the arguments are an object; whoever runs the tool checks them against its schema."""
    strict: bool = False
    """Ask the endpoint to hold the model to the schema. OpenAI wants every argument required then."""

    @property
    def definition(self) -> dict[str, Any]:
        """As the chat completions API takes it."""
        strict = {"strict": True} if self.strict else {}
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
                **strict,
            },
        }

    def parse(self, arguments: str) -> dict[str, Any]:
        """The model's arguments, checked. `MalformedArgumentsError` has a text that the model can act on."""
        try:
            values = json.loads(arguments or "{}")
        except ValueError as error:
            raise MalformedArgumentsError(f"The arguments of {self.name} are not valid JSON: {error}")
        if not isinstance(values, dict):
            raise MalformedArgumentsError(f"The arguments of {self.name} must be a JSON object")
        if not self.checked:
            return values
        properties: Mapping[str, Any] = self.parameters["properties"]
        if unknown := sorted(values.keys() - properties.keys()):
            raise MalformedArgumentsError(f"{self.name} takes no argument {', '.join(unknown)}")
        if missing := [name for name in self.parameters["required"] if name not in values]:
            raise MalformedArgumentsError(f"{self.name} needs {', '.join(missing)}")
        for name, value in values.items():
            if not _fits(value, properties[name]):
                wanted = json.dumps(properties[name])
                raise MalformedArgumentsError(f"{self.name}: {name} is {json.dumps(value)}, expected {wanted}")
        return values

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """Call the function and give its result as text: strings as they are, all else as JSON.

        A plain function runs in a thread. A thread cannot be cancelled: after a time-out it runs to its end.
        """
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**arguments)
        else:
            result = await asyncio.to_thread(self.function, **arguments)
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def tool(function: Callable[..., Any], *, name: str = "", timeout_s: float | None = None, strict: bool = False) -> Tool:
    """Make a tool of a typed function. Its docstring tells the model what it is for."""
    name = name or function.__name__
    hints = get_type_hints(function)
    properties, required = {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"tool {name}: {parameter} cannot be filled from JSON by name")
        if parameter.name not in hints:
            raise TypeError(f"tool {name}: {parameter.name} has no type")
        properties[parameter.name] = _schema(hints[parameter.name])
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Tool(name, inspect.getdoc(function) or "", function, schema, timeout_s, strict=strict)


def _schema(hint: Any) -> dict[str, Any]:
    """JSON schema of the types that tools use: scalars, lists, dicts, Literal, and ``X | None``."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(each) for each in inner]}
    if hint is type(None):
        return {"type": "null"}
    if origin is list:
        return {"type": "array", "items": _schema(inner[0])}
    if (origin or hint) in _JSON_TYPES:
        return {"type": _JSON_TYPES[origin or hint]}
    raise TypeError(f"no JSON schema for {hint!r}; use str, int, float, bool, list, dict, Literal or None")


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, each) for each in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            items = schema.get("items")
            return isinstance(value, list) and all(items is None or _fits(each, items) for each in value)
        case "object":
            return isinstance(value, dict)
    return isinstance(value, str)
