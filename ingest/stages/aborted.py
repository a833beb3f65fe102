"""Calls that were left before their answer was complete. No span says so: what shows is what is missing.

    left    |---- response id, first chunk --x          no finish reason, no token counts
    others  |-----------------------------------------| by the same instrumentation: it tells of one or both

An engine sends no span of a request that its client left, and the client's own ends like any other.
"""

from __future__ import annotations

import re

from ingest.stages.drafts import CallDraft

# A client that gave up says so in its own error; a server or a gateway that did answers with a status.
GAVE_UP = re.compile(r"timed?[ -]?out|cancel|abort|generatorexit", re.IGNORECASE)
SERVERS_STATUS = re.compile(r"\b[45]\d\d\b")
_TEXT = (
    "it began to answer and tells neither a finish reason nor tokens, as others by the same instrumentation do:"
    " it was left before its end"
)


def warn_aborted(calls: list[CallDraft]) -> None:
    """Warn of calls that began an answer and tell of no end, and of those that failed because nobody waited longer.

    An instrumentation that never tells of ends says nothing by not telling: only beside one that ended does a call
    without an end mean something.
    """
    endless = [call for call in calls if not (call.engines or call.tools or call.told.asked or _tells_end(call))]
    if not endless:
        return
    telling = {_manner(call) for call in calls if _tells_end(call)}
    for call in endless:
        error = call.told.error
        if error is None and _began(call) and _manner(call) in telling:
            call.timed_by.warn("call_aborted", _TEXT)
        elif error is not None and _gave_up(call, error):
            call.timed_by.warn("call_aborted", f"nobody waited for its end any longer after {call.end - call.start} ns")


def _manner(call: CallDraft) -> tuple[str, bool]:
    """The instrumentation, and whether it tells of a stream: many tell less of one."""
    return call.timed_by.span.scope_name, _is_streamed(call)


def _is_streamed(call: CallDraft) -> bool:
    return bool(call.told.streamed or call.told.first_tokens)


def _began(call: CallDraft) -> bool:
    return _is_streamed(call) and (call.told.response_id is not None or call.first_token is not None)


def _tells_end(call: CallDraft) -> bool:
    told = call.told
    return bool(told.finish_reason or told.output_tokens) or any(
        node.facts.finish_reason or node.facts.output_tokens for node in call.nodes
    )


def _gave_up(call: CallDraft, error: str) -> bool:
    refused = any((node.facts.http_status or 0) >= 400 for node in call.https)
    return not refused and GAVE_UP.search(error) is not None and SERVERS_STATUS.search(error) is None
