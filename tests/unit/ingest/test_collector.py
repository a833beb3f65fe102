"""The cycle collector, which must not look while a pass is at work, and must look again after it."""

import gc

import pytest

from ingest import collector, tasks


def test_a_pass_is_not_looked_into_and_what_follows_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def failing(*_: object) -> None:
        seen.append(gc.isenabled())
        raise RuntimeError("a pass that fails")

    monkeypatch.setattr(tasks, "decompose_dirty", failing)
    monkeypatch.setattr(tasks, "_sweep_if_due", lambda: None)
    monkeypatch.setattr(tasks, "shared_now_ns", lambda: 0)
    with pytest.raises(RuntimeError, match="a pass that fails"):
        tasks.decompose_traces()
    assert seen == [False]
    assert gc.isenabled()


def test_cycles_of_a_pass_go_after_it() -> None:
    cycles: list[object] = []
    with collector.put_off():
        for _ in range(3):
            cycle: list[object] = []
            cycle.append(cycle)
            cycles.append(cycle)
        cycles.clear()
    assert gc.collect() >= 3
