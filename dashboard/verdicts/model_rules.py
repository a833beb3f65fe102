"""What the model and its engine had to do with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dashboard.figures import count, duration, percent, plural
from dashboard.pages.parts.safetext import visible
from dashboard.verdicts.facts import MODEL_INPUT, Facts
from dashboard.verdicts.finding import Finding
from ingest.read.values import CallRow

CALLS_TO_COMPARE = 2
NEARLY_FULL = 0.9  # of an engine's KV cache
WORTH_NAMING = 0.2  # of a stage; among a thousand rounds the longest explains nothing
LEAST_TOKENS = 64  # engines cache whole blocks of 16 and more; less than a few of them is no miss


def cold_cache(facts: Facts) -> Iterator[Finding]:
    """What the call before had sent already could have come from the cache; no more than that.

    Bound: of a call's waited prefill the share of its uncached tokens that it repeats.
    """
    cold = [repeat for before, call in facts.pairs() if (repeat := _repeat(before, call))]
    calls = [repeat.call for repeat in cold]
    repeated = sum(repeat.tokens for repeat in cold)
    missed = sum(repeat.missed_tokens for repeat in cold)
    waited = facts.waited_ns((call.span_id for call in calls), *MODEL_INPUT)
    saves = sum(
        facts.waited_ns([repeat.call.span_id], *MODEL_INPUT) * repeat.missed_tokens // repeat.uncached_tokens
        for repeat in cold
    )
    if not facts.matters(saves):
        return
    guess = any(call.source == "estimated" for call in calls)
    owner = max(MODEL_INPUT, key=lambda stage: facts.waited_ns((c.span_id for c in calls), stage))
    held = sum(call.cached_tokens or 0 for call in calls)
    numbers: dict[str, int | float] = {
        "calls": len(calls),
        "repeated_tokens": repeated,
        "missed_tokens": missed,
        "cached_tokens": held,
        "waited_ns": waited,
        "share_held": held / repeated,
    }
    text = (
        f"The cache held {percent(held / repeated)} of the {count(repeated)} prompt tokens that {facts.rounds(calls)} "
        f"repeated from the call before"
    )
    full = _fullest(calls)
    if full is not None and full.state.most_kv_usage >= NEARLY_FULL:
        numbers["most_kv_usage"] = full.state.most_kv_usage
        text += f", while the KV cache of {full.engine_name} was up to {percent(full.state.most_kv_usage)} full"
    by = " by estimate" if guess else ""
    yield Finding(
        code="cold_cache",
        owner=owner,
        numbers=numbers,
        spans=tuple(c.span_id for c in calls),
        estimated=guess,
        text=f"{text}: {duration(waited)}{by} went into reading them.",
        saves_at_most_ns=saves,
        action="Keep the prompt’s prefix the same and cached from round to round",
    )


class _Repeat(NamedTuple):
    """A call that sends again what the call before it had in its prompt or its answer, and that no cache held."""

    call: CallRow
    tokens: int  # repeated, with those that the cache held
    missed_tokens: int
    uncached_tokens: int  # of the whole prompt


def _repeat(before: CallRow, call: CallRow) -> _Repeat | None:
    """None where nobody tells, or where next to nothing was missed."""
    cached = call.cached_tokens
    if cached is None or not call.input_tokens or call.prefill_ns is None or before.input_tokens is None:
        return None
    tokens = min(call.input_tokens, before.input_tokens + (before.output_tokens or 0))
    repeat = _Repeat(call, tokens, tokens - cached, call.input_tokens - cached)
    return repeat if repeat.missed_tokens >= LEAST_TOKENS and repeat.uncached_tokens > 0 else None


def _fullest(calls: list[CallRow]) -> Any:
    told = [c.engine_state for c in calls if c.engine_state and c.engine_state.state.most_kv_usage is not None]
    return max(told, key=lambda joined: joined.state.most_kv_usage, default=None)


def cached_share(facts: Facts) -> Iterator[Finding]:
    """How much of the prompts of what was read came from the cache, whoever could have helped it."""
    for owner, again in (("prefill", False), ("re_encoding", True)):
        calls = [c for c in facts.run.calls if c.carries_tool_results == again and c.prefill_ns]
        told = [c for c in calls if c.cached_tokens is not None and c.input_tokens]
        asked, held = sum(c.input_tokens or 0 for c in told), sum(c.cached_tokens or 0 for c in told)
        if asked and facts.matters(facts.amounts[owner], 0.1):
            whose = plural(len(told), "call") if len(told) > 1 else "that call"
            yield Finding(
                code="cached_share",
                owner=owner,
                spans=tuple(c.span_id for c in told),
                numbers={"calls": len(told), "input_tokens": asked, "cached_tokens": held, "share": held / asked},
                text=f"The cache held {percent(held / asked)} of the {count(asked)} prompt tokens of {whose}.",
            )


def engine_queue(facts: Facts) -> Iterator[Finding]:
    """Waiting on the agent's side is told apart from waiting in an engine or gateway."""
    own = sum(p.end_ns - p.start_ns for p in facts.run.phases if p.owner == "queue" and p.source == "client")
    engine_ns = facts.amounts["queue"] - own
    if facts.matters(own):
        yield Finding(
            code="own_queue",
            owner="queue",
            numbers={"ns": own, "share": facts.share(own)},
            saves_at_most_ns=own,
            text=f"{duration(own)} of waiting was on the agent’s side, before a call.",
            action="Let the agent start more calls at once",
        )
    if not facts.matters(engine_ns):
        return
    waited = [call for call in facts.run.calls if facts.waited_of(call.span_id, "queue")]
    states = [c.engine_state for c in waited if c.engine_state]
    numbers: dict[str, int | float] = {"ns": engine_ns, "share": facts.share(engine_ns), "calls": len(waited)}
    engines = {call.engine_state.engine_name if call.engine_state else call.engine for call in waited}
    only = engines.pop() if len(engines) == 1 else None
    where = f"the queue of {visible(only)}" if only else "the engine’s or a gateway’s queue"
    text = f"Waiting in {where} cost {duration(engine_ns)} over {plural(len(waited), 'call')}"
    most = max((s.state.most_waiting for s in states if s.state.most_waiting), default=None)
    if most:
        numbers["most_waiting"] = most
        text += f", with up to {count(round(most))} {'request' if round(most) == 1 else 'requests'} waiting there"
    yield Finding(
        code="engine_queue",
        owner="queue",
        numbers=numbers,
        spans=tuple(c.span_id for c in waited),
        text=f"{text}.",
        saves_at_most_ns=engine_ns,
        action="Give the engine room, or send rounds to a less busy one",
    )


def preempted(facts: Facts) -> Iterator[Finding]:
    """Around a call; that it was the call itself nobody tells."""
    hit = [c for c in facts.run.calls if c.engine_state and c.engine_state.state.preempted]
    if not hit:
        return
    worst = max(hit, key=lambda c: c.engine_state.state.preempted)
    most = worst.engine_state.state.preempted
    numbers: dict[str, int | float] = {"calls": len(hit), "most_preempted": most}
    yield Finding(
        code="preempted",
        numbers=numbers,
        spans=tuple(c.span_id for c in hit),
        text=f"{worst.engine_state.engine_name} put {plural(round(most), 'request')} back around "
        f"{facts.rounds([worst])} to free its KV cache.",
    )


def rounds_times_ttft(facts: Facts) -> Iterator[Finding]:
    """The lever that multiplies: each round waits for its own first token. One round always stays."""
    own = [c for c in facts.run.calls if c.scope == 0 and c.ttft_ns is not None]
    total = facts.run.ttft_sum_ns
    if total is None or len(own) < CALLS_TO_COMPARE or not facts.matters(total, 0.1):
        return
    longest = max(c.ttft_ns or 0 for c in own)
    guess = any(c.source == "estimated" for c in own)
    mean = total // len(own)
    yield Finding(
        code="rounds_ttft",
        estimated=guess,
        spans=tuple(c.span_id for c in own),
        numbers={
            "rounds": len(own),
            "ttft_sum_ns": total,
            "mean_ns": mean,
            "longest_ns": longest,
            "share": facts.share(total),
        },
        text=f"{plural(len(own), 'round')} each waited for a first token: {duration(total)} in all, "
        f"{percent(facts.share(total))} of the run{', partly by estimate' if guess else ''}; "
        f"a round less would save about {duration(mean)}.",
        saves_at_most_ns=total - longest,
        action="Answer in fewer rounds: ask for several tools at once, or merge steps",
    )


def written_tokens(facts: Facts) -> Iterator[Finding]:
    """How long the answers were, and how fast they came."""
    for owner, again in (("decode", False), ("continue_decode", True)):
        told = [
            c
            for c in facts.run.calls
            if c.carries_tool_results == again and c.tpot_ns is not None and (c.output_tokens or 0) > 1
        ]
        tokens = sum(c.output_tokens or 0 for c in told)
        if not told or not facts.matters(facts.amounts[owner], 0.1):
            continue
        each = sum((c.tpot_ns or 0) * ((c.output_tokens or 1) - 1) for c in told) // (tokens - len(told))
        yield Finding(
            code="written_tokens",
            owner=owner,
            numbers={"calls": len(told), "output_tokens": tokens, "tpot_ns": each},
            spans=tuple(c.span_id for c in told),
            text=f"{count(tokens)} tokens came at {duration(each)} each.",
        )


def longest_call(facts: Facts) -> Iterator[Finding]:
    """Which round took most of a stage that several share."""
    for owner in ("prefill", "decode", "re_encoding", "continue_decode", "model_unsplit"):
        calls = [c for c in facts.run.calls if facts.waited_of(c.span_id, owner)]
        if len(calls) < CALLS_TO_COMPARE or not facts.matters(facts.amounts[owner], 0.1):
            continue
        longest = max(calls, key=lambda c: facts.waited_of(c.span_id, owner))
        ns = facts.waited_of(longest.span_id, owner)
        if ns < facts.amounts[owner] * WORTH_NAMING:
            continue
        yield Finding(
            code="longest_call",
            owner=owner,
            numbers={"ns": ns, "calls": len(calls)},
            spans=(longest.span_id,),
            text=f"Round {facts.labels[longest.span_id]} took {duration(ns)} of it.",
        )


def unsplit(facts: Facts) -> Iterator[Finding]:
    """Saves no time; tells why nobody can split it."""
    calls = [c for c in facts.run.calls if c.source == "unknown" and not c.error]
    ns = facts.waited_ns((c.span_id for c in calls), "model_unsplit")
    if not facts.matters(ns):
        return
    all_of = "every call" if len(calls) > 1 else "its call"
    which = all_of if len(calls) == len(facts.run.calls) else plural(len(calls), "call")
    why = "the provider did not stream" if all(c.streamed is False for c in calls) else "no span tells when it came"
    yield Finding(
        code="unsplit",
        owner="model_unsplit",
        numbers={"calls": len(calls), "ns": ns},
        spans=tuple(c.span_id for c in calls),
        text=f"First token unknown for {which}: {why}, so {duration(ns)} of model time stays unsplit.",
        action="Stream the answers, and record when each first token came",
    )


def call_retries(facts: Facts) -> Iterator[Finding]:
    """Attempts with spans of their own are unsplit time of a call that is else split; hidden ones tell no time."""
    again = [c for c in facts.run.calls if c.attempts > 1]
    if not again:
        return
    split = [c.span_id for c in again if c.source != "unknown"]
    ns = facts.waited_ns(split, "model_unsplit")
    attempts = sum(c.attempts for c in again)
    text = f"{facts.rounds(again).capitalize()} took {attempts} attempts"
    yield Finding(
        code="call_retries",
        owner="model_unsplit",
        numbers={"calls": len(again), "attempts": attempts, "failed_ns": ns},
        spans=tuple(c.span_id for c in again),
        text=f"{text}: {duration(ns)} went into those that failed."
        if ns
        else f"{text}; how long each took is not told.",
        saves_at_most_ns=ns or None,
        action="Find out why the model’s provider refuses requests" if ns else "",
    )


RULES = (
    cold_cache,
    engine_queue,
    call_retries,
    unsplit,
    rounds_times_ttft,
    longest_call,
    cached_share,
    written_tokens,
    preempted,
)
