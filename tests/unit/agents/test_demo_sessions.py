"""The demo's conversations: users come back, but not while they are still being answered."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import cast

from agents.demo.cast import MAX_TURNS, Role
from agents.demo.world import World
from agents.engine import Reply
from agents.loop import Agent


class Shop(Role):
    def deploy(self) -> list[Agent]:
        return [cast(Agent, name) for name in ("current", "candidate")]

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        raise NotImplementedError


class Job(Shop):
    converses = False


def role(kind: type[Role]) -> Role:
    return kind(cast(World, SimpleNamespace(random=Random(1))))


def test_a_session_has_several_turns_but_not_too_many() -> None:
    shop, turns = role(Shop), Counter[str]()
    for _ in range(60):
        session = shop.session()
        session.turns += 1
        turns[session.id] += 1

    assert max(turns.values()) == MAX_TURNS
    assert len(turns) < 40


def test_a_user_who_waits_for_an_answer_asks_nothing_else() -> None:
    shop, asked = role(Shop), set()
    for _ in range(20):
        session = shop.session()
        session.busy = True
        asked.add(session.id)

    assert len(asked) == 20


def test_both_versions_get_sessions() -> None:
    shop = role(Shop)
    for _ in range(6):
        shop.session().busy = True

    assert {session.agent for session in shop.sessions} == {"current", "candidate"}


def test_a_job_has_no_conversation() -> None:
    job = role(Job)

    assert job.session() is not job.session()
    assert job.sessions == []
