"""The tools of the demo's agents: functions that take a believable time, and sometimes fail.

Delays are lognormal around a median, as tool latencies are: practice reports of 2026 give 0.2–2 s for most
tools and 5 s for the slowest in a hundred. Medians of single tools are chosen for a lively demo. Results are as long
as real ones, hundreds to thousands of tokens: the model has to read them before it goes on.
"""

from __future__ import annotations

import math
from random import Random

from agents.clock import Clock

SPREAD = 0.45  # sigma of the logarithm: the slowest in a hundred takes about 2.8 medians


class GatewayError(Exception):
    """The payment gateway is away."""

    error_type = "502"


class PatchError(Exception):
    """A patch does not fit the file."""


class Backends:
    """What stands behind the tools: a shop, the web, an archive, and a repository of code."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock, self._random = clock, random
        self._refused: set[str] = set()

    async def find_customer(self, email: str) -> dict[str, str]:
        """Find a customer by e-mail address."""
        await self._take(0.2)
        return {"email": email, "since": "2024", "tier": self._random.choice(["basic", "plus"])}

    async def look_up_order(self, number: str) -> dict[str, str]:
        """Look up an order: what, when, and where it is."""
        await self._take(0.45)
        return {"number": number, "state": self._random.choice(["packed", "on its way", "delivered"])}

    async def refund(self, number: str, amount: float, reason: str = "") -> dict[str, str]:
        """Pay money back for an order."""
        await self._take(0.7)
        if number.startswith("X") and number not in self._refused:  # the second try works
            self._refused.add(number)
            raise GatewayError("payment gateway: 502 Bad Gateway")
        return {"number": number, "refunded": f"{amount:.2f}", "reason": reason}

    async def web_search(self, query: str) -> list[str]:
        """Search the web; gives addresses and what stands there."""
        await self._take(0.8)
        address = f"https://example.org/{query.replace(' ', '-')}"
        return [f"{address}/{at}: {'what the page says about it, and when ' * 12}" for at in range(1, 6)]

    async def read_page(self, url: str) -> str:
        """Read a page as plain text."""
        await self._take(0.6)
        return f"Text of {url}. " + "It gives figures for each of the last four quarters. " * 220

    async def search_archive(self, query: str, years: int = 5) -> list[str]:
        """Search the archive of internal reports. Slow."""
        await self._take(2.4)
        return [f"report {self._random.randrange(1000, 9999)}: {query}, last {years} years"]

    async def read_file(self, path: str) -> str:
        """Read a file of the repository."""
        await self._take(0.05)
        return f"# {path}\n" + "def step(state, event):\n    return state.after(event)\n\n\n" * 110

    async def search_code(self, pattern: str) -> list[str]:
        """Search the repository for a pattern."""
        await self._take(0.2)
        return [f"src/module_{at}.py:{self._random.randrange(1, 400)}: {pattern}" for at in range(30)]

    async def apply_patch(self, path: str, patch: str) -> str:
        """Change a file by a unified diff."""
        await self._take(0.12)
        if path.startswith("legacy/"):
            raise PatchError(f"{path}: hunk 2 does not apply at line {self._random.randrange(20, 300)}")
        return f"{path}: {len(patch.splitlines())} lines changed"

    async def run_tests(self, path: str = "tests") -> str:
        """Run the tests below a path."""
        await self._take(2.2)
        ran = "\n".join(f"{path}/test_part_{at}.py ...................." for at in range(30))
        return f"{ran}\n{self._random.randrange(40, 220)} passed"

    async def _take(self, median_s: float) -> None:
        await self._clock.sleep(self._random.lognormvariate(math.log(median_s), SPREAD))
