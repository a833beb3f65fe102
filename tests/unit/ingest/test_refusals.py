"""When a refused client is told to come back."""

from __future__ import annotations

from ingest.otlp.errors import BadData, Overloaded, StoreUnavailable


def test_clients_that_were_refused_together_come_back_apart() -> None:
    told = {StoreUnavailable("away", 20).retry_after_s for _ in range(200)}
    assert len(told) > 5
    assert all(told_s is not None and 20 <= told_s <= 30 for told_s in told)


def test_nobody_is_told_to_come_back_at_once() -> None:
    assert Overloaded("full", 0.01).retry_after_s == 1


def test_what_will_never_be_taken_has_no_time() -> None:
    assert BadData("broken").retry_after_s is None
