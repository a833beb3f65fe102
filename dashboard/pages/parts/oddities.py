"""What each warning of the latency model does to a run's figures, in the words of docs/latency-model.md (a test holds
the two together), so that the page explains it where it stands."""

from __future__ import annotations

EFFECTS = {
    "root_missing": "the run is seen from its children, and starts with the first",
    "root_ended_early": "the wall extends to that call's end",
    "orphan_adopted": "taken into the run that was going on at its time",
    "parent_cycle": "the circle is cut before its earliest span",
    "ended_before_start": "taken as empty",
    "time_out_of_range": "cut to it; beside a sane time that one counts for both",
    "clock_skew": "shifted into it, by as much as the warning says",
    "model_not_instrumented": "the model's time is part of orchestration",
    "no_model_call": "not counted: it prepared the request",
    "retries_inside": "one call of several attempts; its time holds them all",
    "calls_inside": "what is not the tools' stays unsplit: it holds more calls",
    "tool_abandoned": "its time counts until then",
    "closed_early": "taken to end with the step around it",
    "first_token_outside": "not believed",
    "first_token_at_end": "not believed: that was the whole answer",
    "first_token_is_chunk": "not believed",
    "first_token_before_response": "not believed",
    "first_token_not_streamed": "not believed: it could not be seen",
    "first_token_rate": "not believed",
    "first_chunks_dropped": "not believed: a later chunk is not the first",
    "first_token_from_http": "its end is taken, as derived",
    "first_token_held_back": "the difference is decode",
    "call_aborted": "none; its tokens stay unknown",
    "engine_longer_than_call": "cut to the call",
    "more_warnings": "the rest is left out",
}
