"""Steps of the simulated engine: what a request costs alone, beside others, and when memory runs out."""

import pytest

from agents.engine.core import PagedMemory, RadixMemory, Speculation
from agents.engine.core.speculation import EAGLE_3, P_EAGLE, expected_tokens
from tests.unit.agents.steps import UNIT, Bench, S, request, words


def test_one_request_takes_its_prefill_and_a_step_for_each_further_token() -> None:
    bench = Bench()
    alone = request("a", words(40), output=3)

    bench.run(alone)

    assert alone.first_token_ns == (1 + 40 * 0.25) * S
    assert alone.last_token_ns == alone.first_token_ns + 2 * (1 + 4 + 1) * S


def test_a_long_prompt_is_cut_in_chunks_and_others_decode_meanwhile() -> None:
    bench = Bench()
    talker, reader = request("a", words(8, "x"), output=6), request("b", words(150), output=1)
    bench.submit(talker)
    bench.step()  # the talker's prefill

    bench.run(reader)

    made = {event.at_ns for event in bench.log.of("a") if event.kind == "made"}
    assert reader.first_token_ns in made
    # 63 a step beside the talker's one: 63 + 63 + 24.
    assert [event.computed_tokens for event in bench.log.events if event.kind == "step"][1:4] == [64, 64, 25]


def test_who_finds_no_place_waits_in_order() -> None:
    bench = Bench()
    many = [request(str(at), words(8, str(at))) for at in range(6)]

    bench.run(*many)

    begun = [each.scheduled_ns for each in many]
    assert begun[:4] == [0] * 4
    assert begun[4] == begun[5] == many[0].last_token_ns


@pytest.mark.parametrize("memory", [PagedMemory(4096), RadixMemory(4096)])
def test_the_next_turn_finds_prompt_and_answer_in_the_cache(memory: PagedMemory | RadixMemory) -> None:
    bench = Bench(memory=memory)
    first = request("a", words(100), output=20)
    bench.run(first)
    turn = request("b", [*first.prompt, *first.output, *words(30, "q")])

    bench.run(turn)

    # The last token of an answer is never computed: no token came after it.
    grain = memory.block_tokens
    assert turn.cached_tokens == 119 // grain * grain


def test_the_tree_finds_what_blocks_miss() -> None:
    found = {}
    for memory in (PagedMemory(4096), RadixMemory(4096)):
        bench = Bench(memory=memory)
        bench.run(request("a", [*words(25), "x"]))
        asker = request("b", [*words(25), "y"])
        bench.run(asker)
        found[memory.block_tokens] = asker.cached_tokens

    assert found == {16: 16, 1: 25}


def test_a_changed_start_finds_nothing() -> None:
    bench = Bench()
    bench.run(request("a", ["monday", *words(60)]))
    later = request("b", ["tuesday", *words(60)])

    bench.run(later)

    assert later.cached_tokens == 0


@pytest.mark.parametrize("memory", [PagedMemory(64), RadixMemory(64)])
def test_what_was_used_least_recently_goes_first_and_ends_before_starts(memory: PagedMemory | RadixMemory) -> None:
    bench = Bench(memory=memory)
    for name in "abc":
        bench.run(request(name, words(30, name), output=1))

    newest, oldest = request("c2", words(30, "c"), output=1), request("a2", words(30, "a"), output=1)
    bench.run(newest)
    bench.run(oldest)

    assert newest.cached_tokens in (16, 29)
    assert oldest.cached_tokens <= 4  # 64 tokens of room hold two prompts of 30 and a little of the third


@pytest.mark.parametrize("memory", [PagedMemory(96), RadixMemory(96)])
def test_when_memory_runs_out_the_latest_is_preempted_and_still_ends(memory: PagedMemory | RadixMemory) -> None:
    bench = Bench(memory=memory)
    early, late = request("a", words(30, "a"), output=40), request("b", words(30, "b"), output=40)

    bench.run(early, late)

    assert (early.preemptions, late.preemptions > 0) == (0, True)
    assert early.produced == late.produced == 40
    assert early.last_token_ns < late.last_token_ns
    assert memory.held_tokens == 0
    scheduled = [event for event in bench.log.of("b") if event.kind == "scheduled"]
    assert [event.first for event in scheduled] == [True] + [False] * late.preemptions


def test_a_request_that_never_fits_is_refused() -> None:
    bench = Bench(memory=PagedMemory(64))

    with pytest.raises(ValueError, match="more than 64"):
        bench.submit(request("a", words(60), output=5))


def test_a_cancelled_request_gives_its_memory_back() -> None:
    bench = Bench()
    gone, stays = request("a", words(40, "a")), request("b", words(10, "b"))
    bench.submit(gone, stays)
    bench.step()

    bench.scheduler.cancel(gone, bench.now_ns)
    bench.run()

    assert bench.memory.held_tokens == 0
    assert [event.kind for event in bench.log.of("a")][-1] == "aborted"
    assert stays.done


def test_a_cold_engine_pays_once() -> None:
    from dataclasses import replace

    bench = Bench(costs=replace(UNIT, first_step_s=100))
    one, two = request("a", words(4, "a"), output=1), request("b", words(4, "b"), output=1)
    bench.run(one)
    began_ns = bench.now_ns
    bench.run(two)

    assert one.first_token_ns == (100 + 1 + 4 * 0.25) * S
    assert two.first_token_ns == began_ns + (1 + 4 * 0.25) * S


@pytest.mark.parametrize(("acceptance", "drafts"), [(0.5, 2), (0.72, 3), (0.9, 7)])
def test_speculation_yields_what_the_formula_says(acceptance: float, drafts: int) -> None:
    speculation = Speculation(draft_tokens=drafts, acceptance=acceptance, tool_acceptance=0)
    bench = Bench(speculation=speculation, seed=4)

    bench.run(request("a", words(8), output=4000))

    made = [event for event in bench.log.events if event.kind == "made" and event.drafted][:-1]
    mean = sum(event.tokens for event in made) / len(made)
    closed = (1 - acceptance ** (drafts + 1)) / (1 - acceptance)
    assert expected_tokens(acceptance, drafts) == pytest.approx(closed)
    assert mean == pytest.approx(closed, rel=0.06)  # four standard errors of a thousand steps


def test_speculation_waits_for_the_first_tokens_and_is_worse_in_tool_calls() -> None:
    speculation = Speculation(draft_tokens=3, acceptance=1, tool_acceptance=0, skip_tokens=5)
    bench = Bench(speculation=speculation)

    bench.run(request("a", words(8), output=30, tool_call_from=13))

    made = [event.tokens for event in bench.log.of("a") if event.kind == "made"]
    assert made == [1] * 5 + [4, 4] + [1] * 17


def test_parallel_drafts_cost_one_pass() -> None:
    assert EAGLE_3.cost_s == pytest.approx(3 * EAGLE_3.draft_step_s)
    assert P_EAGLE.cost_s == P_EAGLE.draft_step_s


def test_the_same_seed_gives_the_same_log() -> None:
    logs = []
    for _ in range(2):
        bench = Bench(speculation=EAGLE_3, seed=9)
        bench.run(*(request(name, words(50, name), output=60) for name in "abcde"))
        logs.append(bench.log.events)

    assert logs[0] == logs[1]
