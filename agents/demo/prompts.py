"""What the demo's agents are told before they are asked. The lengths matter here, not the words."""

from __future__ import annotations

from random import Random

from agents.chat import Message

SUPPORT = (
    "You answer customers of a shop. Look up what you need before you answer. Be brief and kind. "
    "Never promise a date that the order does not show."
)
RESEARCH = (
    "You answer questions about markets with sources. Search widely, in parallel where you can, read what "
    "looks best, and let the fact checker confirm figures that matter."
)
CODING = (
    "You change a code base on request. Read before you write, keep patches small, and run the tests before "
    "you say that you are done."
)
TRIAGE = "You sort tickets. Answer with the team, the urgency from 1 to 4, and one sentence of reason."
FACT_CHECKER = "You confirm or reject one claim. Search once, then answer yes or no with the source."
DIGEST = "You write one paragraph about one product for the nightly digest."


def instructions(opening: str, tokens: int) -> str:
    """``opening`` and numbered rules, about ``tokens`` long; always the same for the same arguments.

    Practice reports of 2026 give 4–12 K tokens of prompt and tool schemas that repeat in every call.
    """
    topics = ("returns", "dates", "names", "prices", "sources", "tone", "privacy", "limits", "totals")
    lines, number = [opening], 0
    while sum(map(len, lines)) < tokens * 4:
        number += 1
        topic = topics[number % len(topics)]
        lines.append(
            f"Rule {number}, on {topic}: when a request touches {topic}, follow section {number % 12 + 1} "
            f"of the handbook, and say plainly what is not known."
        )
    return "\n".join(lines)


def long_history(random: Random, turns: int = 10) -> list[Message]:
    """Earlier work of a coding session, about 700 tokens a turn."""
    history: list[Message] = []
    for turn in range(1, turns + 1):
        name = f"src/part_{random.randrange(1, 60)}.py"
        body = "\n".join(f"-    old_{name}_{line}()\n+    new_{name}_{line}()" for line in range(34))
        history.append({"role": "user", "content": f"Step {turn}: tidy up {name}, the names in it are stale."})
        history.append({"role": "assistant", "content": f"Done in {name}:\n{body}\nThe tests pass."})
    return history
