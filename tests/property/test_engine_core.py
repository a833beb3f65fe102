"""Whatever requests come: memory holds, everyone ends, and no cache reports more than was the same."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.engine.core import EventLog, KvMemory, PagedMemory, RadixMemory, Scheduler, Sequence, Speculation
from tests.unit.agents.steps import UNIT, Bench, request

PROMPTS = st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=60), min_size=1, max_size=12)


def common(one: list[str], two: list[str]) -> int:
    same = 0
    while same < min(len(one), len(two)) and one[same] == two[same]:
        same += 1
    return same


@pytest.mark.parametrize("kind", [RadixMemory, lambda tokens: PagedMemory(tokens, 4)])
@given(prompts=PROMPTS, capacity=st.integers(80, 300))
def test_no_more_reuse_than_the_true_common_prefix(kind: type[RadixMemory], prompts: list, capacity: int) -> None:
    memory: KvMemory = kind(capacity)
    bench = Bench(memory=memory)
    seen: list[list[str]] = []
    for at, prompt in enumerate(prompts):
        asker = request(str(at), prompt, output=2)
        bench.run(asker)
        most = max((common(prompt[:-1], other) for other in seen), default=0)
        assert asker.cached_tokens <= most
        if capacity >= 300 and memory.block_tokens == 1 and sum(map(len, prompts[: at + 1])) + 2 * at < 200:
            assert asker.cached_tokens == most  # nothing was evicted yet, so all of it is found
        seen.append([*prompt, *asker.output])
        assert memory.held_tokens == 0
        assert 0 <= memory.kept_tokens <= memory.capacity_tokens


@settings(deadline=None)
@given(
    prompts=PROMPTS,
    outputs=st.lists(st.integers(1, 40), min_size=12, max_size=12),
    gaps=st.lists(st.integers(0, 6), min_size=12, max_size=12),
    cancels=st.sets(st.integers(0, 11), max_size=4),
    tree=st.booleans(),
    speculate=st.booleans(),
    capacity=st.integers(104, 200),
)
def test_everyone_ends_within_the_limits(
    prompts: list, outputs: list, gaps: list, cancels: set, tree: bool, speculate: bool, capacity: int
) -> None:
    memory: KvMemory = RadixMemory(capacity) if tree else PagedMemory(capacity, 4)
    speculation = Speculation(draft_tokens=3, acceptance=0.7, tool_acceptance=0.5) if speculate else None
    bench = Bench(memory=memory, speculation=speculation, costs=replace(UNIT, max_batched_tokens=16, max_sequences=3))
    requests = [request(str(at), prompt, output=outputs[at]) for at, prompt in enumerate(prompts)]
    for at, each in enumerate(requests):
        bench.submit(each)
        for _ in range(gaps[at]):
            if not bench.scheduler.idle:
                bench.step()  # holds budget, places and memory to their limits
        if at in cancels:
            bench.scheduler.cancel(requests[at // 2], bench.now_ns)
    bench.run()

    aborted = {event.request for event in bench.log.events if event.kind == "aborted"}
    assert memory.held_tokens == 0
    for each in requests:
        if each.id not in aborted:
            assert each.produced == len(each.output)
            assert_in_order(each)
    assert_first_come_first_served(bench.log, requests)
    assert_no_more_reuse_than_was_the_same(bench.log, requests)


def assert_no_more_reuse_than_was_the_same(log: EventLog, requests: list[Sequence]) -> None:
    """Also while others run, decode, are preempted and leave."""
    whole = {each.id: [*each.prompt, *each.output] for each in requests}
    for event in log.events:
        if event.kind == "scheduled":
            # What it made itself before a preemption it may find again.
            others = [tokens for id_, tokens in whole.items() if id_ != event.request or not event.first]
            assert event.cached_tokens <= max((common(whole[event.request], each) for each in others), default=0)


def assert_in_order(each: Sequence) -> None:
    times = (each.arrived_ns, each.queued_ns, each.scheduled_ns, each.first_token_ns, each.last_token_ns)
    known = [at for at in times if at is not None]
    assert len(known) == len(times)
    assert known == sorted(known)
    assert sum(tokens for _, tokens in each.made_at) == each.produced


def assert_first_come_first_served(log: EventLog, requests: list[Sequence]) -> None:
    first = [event.request for event in log.events if event.kind == "scheduled" and event.first]
    assert first == sorted(first, key=int)


def test_a_scheduler_with_nothing_to_do_is_idle() -> None:
    assert Scheduler(UNIT, PagedMemory(64)).idle
