"""An engine's durations laid into the client's call."""

from __future__ import annotations

from ingest.stages import Source
from tests.unit.stages.drawing import MS, codes, only_run, phases, stages

ENGINE = "engine ttft=40 e2e=80 prefill=30 decode=40 service=engine-0"


def test_it_splits_a_call_by_the_engines_figures() -> None:
    run = only_run(f"""
        run        0 100  agent
          chat     0 100  call
            llm    2  82  {ENGINE}
    """)
    assert phases(run) == ("transport 0-10, queue 10-20, prefill 20-50, decode 50-90, transport 90-100")
    (call,) = run.calls
    assert (call.source, call.engine, call.transport_ns) == (Source.ENGINE, "engine-0", 20 * MS)
    assert (call.queue_ns, call.prefill_ns, call.decode_ns) == (10 * MS, 30 * MS, 40 * MS)


def test_its_clock_does_not_matter() -> None:
    near = only_run(f"""
        chat     0 100  call
          llm    2  82  {ENGINE}
    """)
    far = only_run(f"""
        chat         0     100  call
          llm    90002   90082  {ENGINE}
    """)
    assert phases(near) == phases(far)


def test_the_clients_first_token_says_where_transport_lies() -> None:
    run = only_run(f"""
        chat     0 100  call  first=45
          llm    2  82  {ENGINE}
    """)
    assert phases(run).startswith("transport 0-5, queue 5-15, prefill 15-45, decode 45-85")


def test_what_a_parser_held_back_is_decode() -> None:
    run = only_run("""
        chat     0 1000  call  first=900
          llm    2  980  engine ttft=100 e2e=980 prefill=100
    """)
    assert stages(run) == {"transport": 20, "prefill": 100, "decode": 880}
    assert codes(run) == ["first_token_held_back"]


def test_a_negative_rest_between_its_two_clocks_comes_off_decode() -> None:
    run = only_run("""
        chat    0 100  call
          llm   0 100  engine ttft=40 e2e=99 prefill=45 decode=62
    """)
    assert (run.calls[0].queue_ns, run.calls[0].prefill_ns) == (0, 40 * MS)
    assert run.calls[0].decode_ns == 59 * MS


def test_two_choices_are_one_call_that_ends_with_the_later() -> None:
    run = only_run("""
        chat     0 100  call
          a      2  60  engine ttft=40 e2e=58 prefill=40
          b      2  90  engine ttft=42 e2e=88 prefill=40
    """)
    assert len(run.calls) == 1
    assert run.calls[0].decode_ns == 46 * MS


def test_a_failed_attempt_is_unsplit_and_the_pause_is_not_the_models() -> None:
    run = only_run("""
        chat       0 300  call
          post1   10 110  http
          post2  150 160  http
            llm  152 290  engine ttft=40 e2e=138 prefill=40
    """)
    assert stages(run) == {
        "model_unsplit": 100, "orchestration": 50, "transport": 12, "prefill": 40, "decode": 98,
    }  # fmt: skip
    assert run.calls[0].attempts == 2


def test_it_outlives_its_http_span_without_being_cut() -> None:
    run = only_run("""
        chat     0 100  call
          post   2  10  http
            llm  4  96  engine ttft=40 e2e=92 prefill=40
    """)
    assert stages(run)["decode"] == 52


def test_more_engine_time_than_the_call_has_is_cut() -> None:
    run = only_run("""
        chat    0 100  call
          llm   0 900  engine ttft=60 e2e=900 prefill=50
    """)
    assert stages(run) == {"queue": 10, "prefill": 50, "decode": 40}
    assert codes(run) == ["engine_longer_than_call"]


def test_it_tells_what_the_client_leaves_open() -> None:
    (call,) = only_run(f"""
        chat    0 100  nameless
          llm   2  82  {ENGINE} in=900 out=20 cached=512 finish=length model=llama answer=r-1
    """).calls
    assert (call.input_tokens, call.cached_tokens, call.output_tokens) == (900, 512, 20)
    assert (call.model, call.finish_reason, call.response_id) == ("llama", "length", "r-1")


def test_it_never_overrides_the_client() -> None:
    (call,) = only_run(f"""
        chat    0 100  call  in=700 out=10 cached=0 finish=stop answer=r-1
          llm   2  82  {ENGINE} in=900 out=20 cached=512 finish=length model=llama answer=r-1
    """).calls
    assert (call.input_tokens, call.cached_tokens, call.output_tokens) == (700, 0, 10)
    assert (call.model, call.finish_reason, call.response_id) == ("m-1", "stop", "r-1")


def test_choices_outputs_add_up_and_their_input_counts_once() -> None:
    with_client = """
        chat     0 100  call
          a      2  60  engine ttft=40 e2e=58 prefill=40 in=900 out=10 answer=r-1
          b      2  90  engine ttft=40 e2e=88 prefill=40 in=900 out=17 answer=r-1
    """
    for drawing in (with_client, with_client.replace("chat     0 100  call", "step     0 100  plain")):
        (call,) = only_run(drawing).calls
        assert (call.input_tokens, call.output_tokens) == (900, 27)
        assert call.tpot_ns == 3 * MS, "by the longest choice's own tokens: they were written side by side"


def test_an_output_that_one_choice_does_not_count_is_unknown() -> None:
    (call,) = only_run("""
        step     0 100  plain
          a      2  60  engine ttft=40 e2e=58 prefill=40 in=900 answer=r-1
          b      2  90  engine ttft=40 e2e=88 prefill=40 in=900 out=17 answer=r-1
    """).calls
    assert (call.input_tokens, call.output_tokens) == (900, None)


def test_a_request_answered_in_vain_before_is_no_choice() -> None:
    (call,) = only_run("""
        chat     0 200  call  answer=r-2
          a      2  90  engine ttft=40 e2e=88 prefill=40 in=900 out=40 answer=r-1
          b    102 180  engine ttft=40 e2e=78 prefill=40 in=900 out=17 answer=r-2
    """).calls
    assert call.output_tokens == 17
