"""The demo's agents, and what each is asked. A question comes with the plan of what the model will say."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agents.chat import Message, ToolRequest
from agents.demo import faq, prompts
from agents.demo.world import BOUNDED_TOOLS, CACHE, World
from agents.engine import Refusal, Reply, call
from agents.engine.playbook import AskedTool
from agents.loop import Agent
from agents.techniques.bounded_tools import BoundedTools
from agents.techniques.inference_pool import BATCH, INTERACTIVE
from agents.techniques.semantic_cache import SemanticCache
from agents.tools import tool

MAX_TURNS = 4
FREQUENT = "frequent"
"""Stands where flaws do: a frequent question, by a user who has asked nothing yet."""
GOODS = ("kettle", "lamp", "desk", "rug", "clock", "vase", "shelf", "chair")
MARKETS = ("heat pumps", "e-bikes", "solar roofs", "oat milk", "used cars", "home batteries")


@dataclass
class Session:
    """A conversation: its turns share an id, a user and a growing history."""

    agent: Agent
    user: str
    history: list[Message] = field(default_factory=list)
    id: str = field(default_factory=lambda: f"conv-{uuid4().hex[:12]}")
    turns: int = 0
    busy: bool = False

    @property
    def free(self) -> bool:
        return not self.busy and self.turns < MAX_TURNS


class Role:
    """One service of the demo: its deployed agents, its open sessions, and its questions."""

    service = ""
    converses = True  # users come back to it; otherwise each question stands alone

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.agents = self.deploy()
        self.sessions: list[Session] = []
        self._opened = 0

    def deploy(self) -> list[Agent]:
        raise NotImplementedError

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        """What a user asks, and what the model will say; ``opens``: it is the first of its conversation."""
        raise NotImplementedError

    def first_history(self) -> list[Message]:
        return []

    def session(self) -> Session:
        """An open conversation, more often than not; else a new one."""
        self.sessions = [each for each in self.sessions if each.busy or each.free]
        free = [each for each in self.sessions if each.free]
        if free and self.random.random() < 0.6:
            return self.random.choice(free)
        # The first version gets most of the sessions; one in three tries another, if there is one.
        self._opened += 1
        return self.opened(self.agents[self._opened % len(self.agents) if self._opened % 3 == 1 else 0])

    def opened(self, agent: Agent) -> Session:
        made = Session(agent, f"user-{self.random.randrange(40):02d}", self.first_history())
        if self.converses:
            self.sessions.append(made)
        return made

    def words(self, low: int, high: int) -> str:
        return self.world.playbook.words(self.random.randint(low, high))

    def agent(self, version: str, environment: str, **given: Any) -> Agent:
        telemetry = self.world.telemetry(self.service, version, environment)
        return Agent(name=self.service, telemetry=telemetry, approve=self._approve, **given)

    async def _approve(self, asked: Sequence[ToolRequest]) -> None:
        """A policy check of the calls. Practice reports of 2026 give 50–100 ms for such steps."""
        await self.world.clock.sleep(self.random.uniform(0.02, 0.06) * len(asked) ** 0.5)


class Support(Role):
    """Look-ups, one after the other, on the small model."""

    service = "support-agent"
    _frequent = 0  # frequent questions so far

    def deploy(self) -> list[Agent]:
        backends = self.world.backends
        given: dict[str, Any] = {
            "model": self.world.small,
            "instructions": prompts.instructions(prompts.SUPPORT, 2_200),
            "tools": [tool(backends.find_customer), tool(backends.look_up_order), tool(backends.refund)],
        }
        if CACHE not in self.world.without:
            cache = SemanticCache(
                version="1.4.2 sim-8b",
                store=faq.SharedStore(self.world.clock, self.random),
                threshold=faq.THRESHOLD,
                ttl_s=300 / self.world.clock.speed,
            )
            given |= {"cache": cache, "shares": faq.for_all}
        # On trial on the large model, with the time in the first line: no prefix is ever found in the cache.
        cold = given | {
            "cache": None,
            "model": self.world.large,  # not behind the pool yet: its waiting is the engine's
            "instructions": f"It is {time.time_ns()}.\n{prompts.instructions(prompts.SUPPORT, 6_000)}",
        }
        return [self.agent("1.4.2", "production", **given), self.agent("1.5.0-rc1", "staging", **cold)]

    def session(self) -> Session:
        made = super().session()
        if made.agent.instructions.startswith("It is "):
            text = made.agent.instructions.split("\n", 1)[1]
            made.agent = dataclasses.replace(made.agent, instructions=f"It is {time.time_ns()}.\n{text}")
        return made

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        if flaw == FREQUENT or (opens and not flaw and self.random.random() < 0.3):
            asked, answer = faq.nth(self._frequent)
            self._frequent += 1
            return asked, (Reply(answer),)
        number = f"{'X' if flaw == 'gateway' else 'A'}-{self.random.randrange(10_000, 99_999)}"
        thing = self.random.choice(GOODS)
        question = f"Order {number}, the {thing}: where is it, and can I have my money back?"
        find = Reply(calls=[call("find_customer", email=f"buyer{self.random.randrange(900)}@example.com")])
        look = Reply(calls=[call("look_up_order", number=number)])
        refund = Reply(calls=[call("refund", number=number, amount=49.9, reason=f"{thing} came too late")])
        end = Reply(self.words(60, 130))
        match flaw:
            case "gateway":
                return question, (look, refund, refund, end)
            case "unknown_tool":
                return question, (look, Reply(calls=[call("escalate_to_manager", number=number)]), end)
            case "malformed":
                broken = AskedTool("look_up_order", f'{{"number": "{number}')
                return question, (Reply(calls=[broken]), look, end)
        plans = ((look, end), (find, look, end), (look, refund, end), (Reply(self.words(50, 110)),))
        return question, self.random.choices(plans, (4, 3, 2, 1))[0]


class Research(Role):
    """Tools side by side on the large model, and a second agent as a tool."""

    service = "research-agent"

    def deploy(self) -> list[Agent]:
        world, backends = self.world, self.world.backends
        made = self.agent("2.1.0", "production", model=world.pooled(self.service, INTERACTIVE))
        checker = Agent(
            name="fact-checker",
            model=world.small,
            telemetry=made.telemetry,
            instructions=prompts.instructions(prompts.FACT_CHECKER, 400),
            tools=[tool(backends.web_search)],
        )
        tools = [
            tool(backends.web_search),
            tool(backends.read_page),
            tool(backends.search_archive, timeout_s=4.0 / world.clock.speed),
            checker.as_tool("Confirm or reject one claim."),
        ]
        text = prompts.instructions(prompts.RESEARCH, 3_000)
        bounded = None
        if BOUNDED_TOOLS not in world.without:
            bounded = BoundedTools(limit=8, overall_s=40.0 / world.clock.speed)  # for all of its runs together
        return [dataclasses.replace(made, instructions=text, tools=tools, bounded=bounded)]

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        market, id_ = self.random.choice(MARKETS), self.random.randrange(10_000)
        question = f"How did the market for {market} move this year? (request {id_})"
        search = [call("web_search", query=f"{market} {view}") for view in ("sales", "prices", "subsidies")]
        end = Reply(self.words(90, 150))
        if flaw == "engine":
            return question, (
                Reply(calls=search),
                Reply(self.words(120, 140), refusal=Refusal(after_tokens=25)),
            )
        if flaw == "slow" or self.random.random() < 0.3:
            archive = call("search_archive", query=market)
            return question, (Reply(calls=[archive, search[0]]), end)
        if self.random.random() < 0.55:
            claim = f"Sales of {market} rose by 8 % (claim {id_})."
            self.world.playbook.plan(
                claim, Reply(calls=[call("web_search", query=f"{market} growth")]), Reply(self.words(25, 40))
            )
            pages = [call("read_page", url=f"https://example.org/{market.replace(' ', '-')}/1")]
            return question, (
                Reply(calls=search[:2]),
                Reply(calls=[*pages, call("fact-checker", task=claim)]),
                end,
            )
        return question, (Reply(calls=search[: self.random.randint(2, 3)]), end)


class Coding(Role):
    """A long history, many short rounds, and slow tests, on the model for code, whose engine is like SGLang."""

    service = "coding-agent"

    def deploy(self) -> list[Agent]:
        world, backends = self.world, self.world.backends
        functions = (backends.read_file, backends.search_code, backends.apply_patch, backends.run_tests)
        given = {
            "model": world.coder,
            "instructions": prompts.instructions(prompts.CODING, 4_000),
            "tools": [tool(function) for function in functions],
            "tool_timeout_s": 20.0 / world.clock.speed,
        }
        return [self.agent("0.9.1", "production", **given), self.agent("0.10.0", "preview", **given)]

    def first_history(self) -> list[Message]:
        return prompts.long_history(self.random)

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        path = f"{'legacy' if flaw == 'patch' else 'src'}/part_{self.random.randrange(60)}.py"
        question = f"In {path}, make step() refuse events that are too old (task {self.random.randrange(9999)})."
        look = Reply(calls=[call("read_file", path=path), call("search_code", pattern="step(")])
        patch = "\n".join(("@@ -1,2 +1,4 @@", " def step(state, event):", "+    check(event)"))
        change = Reply(calls=[call("apply_patch", path=path, patch=patch)])
        test = Reply(calls=[call("run_tests", path="tests/unit")])
        end = Reply(self.words(35, 70))
        if flaw == "patch":
            return question, (look, change, look, end)
        plans = ((look, change, test, end), (look, change, end), (look, end))
        return question, self.random.choices(plans, (3, 3, 2))[0]


class Triage(Role):
    """One call that is not streamed, on the small model: nothing tells when its first token came."""

    service = "ticket-triage"
    converses = False

    def deploy(self) -> list[Agent]:
        model = dataclasses.replace(self.world.small, stream=False)
        text = prompts.instructions(prompts.TRIAGE, 1_200)
        return [self.agent("3.0.1", "production", model=model, instructions=text)]

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        ticket = f"Ticket {self.random.randrange(100_000)}: my {self.random.choice(GOODS)} came broken."
        team = {"team": self.random.choice(["returns", "billing"]), "urgency": self.random.randint(1, 4)}
        return ticket, (Reply(f"{json.dumps(team)} {self.words(60, 120)}"),)


class Digest(Role):
    """A job that asks ten questions at once: more than the large engine serves, so some wait."""

    service = "nightly-digest"
    converses = False

    def deploy(self) -> list[Agent]:
        text = prompts.instructions(prompts.DIGEST, 800)
        model = self.world.pooled(self.service, BATCH)  # whoever has a user waiting goes before it
        return [self.agent("1.0.3", "production", model=model, instructions=text)]

    def question(self, flaw: str | None, opens: bool) -> tuple[str, Sequence[Reply]]:
        question = f"One paragraph on product {self.random.randrange(100_000)}."
        return question, (Reply(self.words(45, 70)),)
