"""When a page heard of a run, from what the socket said."""

from benchmarks.visible import Watch, at_share


def watch(announced: list[int], shortened: list[int], shown: int | None = 140) -> Watch:
    heard = Watch(acked={"run": 100}, shortened=shortened)
    if shown is not None:
        heard.shown["run"] = shown
    if announced:
        heard.announced["run"] += announced
    return heard


def test_of_several_announcements_the_last_is_of_the_whole_run() -> None:
    assert watch([110, 170], []).announced_ns("run") == 170


def test_a_message_that_names_not_all_counts_once_the_run_is_there() -> None:
    assert watch([], [120, 160, 180]).announced_ns("run") == 160
    assert watch([90], [160]).announced_ns("run") == 160


def test_an_announcement_may_overtake_the_acknowledgement() -> None:
    assert watch([95], []).announced_ns("run") == 100


def test_a_run_of_which_nothing_was_heard_is_not_announced() -> None:
    assert watch([], []).announced_ns("run") is None
    assert watch([], [160], shown=None).announced_ns("run") is None


def test_a_share_of_few_values_is_one_of_them() -> None:
    assert at_share([1.0, 2.0, 3.0], 0.99) == 3.0
    assert at_share([1.0, 2.0, 3.0], 0.5) == 2.0
