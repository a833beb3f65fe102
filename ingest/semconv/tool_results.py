"""A tool's result that says it failed, where frameworks turn the exception into text and the span stays well.

LangChain's tool messages have a `status`, MCP's results `isError`; both may be wrapped in dumps of their own.
"""

from __future__ import annotations

from typing import Any

from ingest.semconv.facts import Told
from ingest.semconv.values import document, text
from ingest.spans import Span

RESULTS = (
    "gen_ai.tool.call.result",
    "gen_ai.completion",
    "output.value",
    "traceloop.entity.output",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
    "ai.toolCall.result",
)
# A cheap look before parsing: no failure is spelled without one of these, and most results without what they share.
_HINT, _HINTS = "rror", ('"error"', 'rror": true', 'rror":true')
_WRAPPERS = ("data", "output", "result", "kwargs")
MAX_WRAPPERS = 4
MAX_ERROR_CHARS = 200


def facts(span: Span) -> Told | None:
    for key in RESULTS:
        value = span.attributes.get(key)
        if isinstance(value, str) and _HINT in value and any(hint in value for hint in _HINTS):
            failure = _failure(document(value))
            if failure is not None:
                return Told(tool_failed=True, error=failure)
    return None


def _failure(result: Any) -> str | None:
    """What the result says of its failure; None where it says none."""
    for _ in range(MAX_WRAPPERS):
        if not isinstance(result, dict):
            return None
        if "tool_call_id" in result and result.get("status") == "error":
            return _words(result.get("content"))
        if "content" in result and result.get("isError", result.get("is_error")) is True:
            return _words(result["content"])
        result = next((document(result[key]) for key in _WRAPPERS if key in result), None)
    return None


def _words(content: Any) -> str:
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text")
    return (text(content) or "error").partition("\n")[0][:MAX_ERROR_CHARS]
