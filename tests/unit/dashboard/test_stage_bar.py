"""The stage bar: order, hatching, open end, words."""

from django.template import Context, Template

from dashboard.pages.parts import bar
from ingest.read.values import RunDetail
from tests.unit.dashboard.drawn import drawn_run, two_rounds


def rendered(run: RunDetail, arguments: str = "") -> str:
    return Template("{% stage_bar run " + arguments + " %}").render(Context({"run": run}))


def test_segments_come_in_the_fixed_order_and_zero_is_not_drawn() -> None:
    stages = [s.stage for s in bar.segments(two_rounds())]
    assert stages == [
        "prefill",
        "decode",
        "tool_parsing",
        "tool_execution",
        "re_encoding",
        "continue_decode",
        "orchestration",
    ]


def test_a_stage_that_is_estimated_is_hatched_whole() -> None:
    assert 'class="sg sg-re-encoding is-estimated"' in rendered(two_rounds())
    assert 'class="sg sg-prefill"' in rendered(two_rounds())


def test_of_a_stage_that_is_estimated_in_part_only_the_part_is_hatched() -> None:
    run = drawn_run("decode 0 75 a\ndecode 75 100 b estimated")
    html = rendered(run)
    assert "is-estimated" not in html
    assert '<b class="part-estimated" style="width:25.00%">' in html


def test_a_run_that_may_still_change_ends_openly_and_says_so_far() -> None:
    html = rendered(two_rounds(provisional=True))
    assert '<i class="sg-open">' in html
    assert 'aria-label="So far 605' in html


def test_the_label_tells_all_figures() -> None:
    label = bar.spoken(bar.segments(two_rounds()), two_rounds().wall_ns, so_far=False).replace("\u202f", " ")
    assert label.startswith("605 ms: Prefill 100 ms, 17 %; Decode 100 ms, 17 %; Tool parsing 10 ms, 1.7 %;")


def test_length_shows_time_only_against_a_scale() -> None:
    assert 'style="width:50.00%"' in rendered(two_rounds(), "'row' 1210000000")
    assert 'style="width' not in rendered(two_rounds()).partition(">")[0]


def test_a_run_without_time_draws_nothing_and_still_speaks() -> None:
    html = rendered(drawn_run("prefill 0 0 c1"))
    assert "<i" not in html
    assert "nothing measured yet" in html


def test_labels_stand_only_where_they_have_room() -> None:
    html = rendered(two_rounds(), "'head' None True")
    assert "<b>Tool execution</b>" in html
    assert "<b>Tool parsing</b>" not in html
