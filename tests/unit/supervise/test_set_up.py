"""What runs once before an instance's processes, where the database is just being hurt."""

import pytest
from django.db import OperationalError

from dashboard import set_up


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "PAUSE_S", 0)
    monkeypatch.setattr(set_up, "TRIES", 3)
    monkeypatch.setattr(set_up.connections, "close_all", lambda: None)


def commands(monkeypatch: pytest.MonkeyPatch, failures: int) -> list[str]:
    ran: list[str] = []

    def call(name: str, **_: object) -> None:
        ran.append(name)
        if len(ran) <= failures:
            raise OperationalError("server closed the connection unexpectedly\n\tThis probably means …")

    monkeypatch.setattr(set_up, "call_command", call)
    return ran


def test_a_session_that_the_database_ends_is_one_of_several_tries(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = commands(monkeypatch, failures=2)
    set_up.main()
    assert ran == ["migrate", "migrate", "migrate", "prepare"]
    again = "the database does not answer, trying again: server closed the connection unexpectedly"
    assert capsys.readouterr().out.splitlines() == [again, again]


def test_one_that_stays_away_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = commands(monkeypatch, failures=9)
    with pytest.raises(OperationalError):
        set_up.main()
    assert ran == ["migrate"] * 3
