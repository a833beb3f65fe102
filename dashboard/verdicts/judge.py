"""All rules over one run, and what cost most."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.figures import duration, percent
from dashboard.pages.parts.bar import LABELS, amounts
from dashboard.pages.parts.rounds import Asked, tools_of
from dashboard.verdicts import agent_rules, model_rules
from dashboard.verdicts.facts import Facts
from dashboard.verdicts.finding import Finding, Verdict, about
from ingest.read.values import RunDetail


def judge(run: RunDetail, asked: Asked | None = None) -> Verdict:
    """The sentence that matters, and those that explain it; ``asked`` is what ``tools_of`` finds, where it is known."""
    parts = amounts(run)
    most = max(parts, key=parts.__getitem__)
    if not run.wall_ns or not parts[most]:
        words = "Nothing has been measured yet." if run.provisional else "This run took no time that could be measured."
        return Verdict(headline=Finding(code="nothing", text=words))
    facts = Facts(run, tools_of(run) if asked is None else asked)
    found = [f for rule in (*model_rules.RULES, *agent_rules.RULES) for f in rule(facts)]
    found += [*_second(facts, parts, most), *_estimated(run)]
    # What explains the greatest comes first; within it, and after it, what could win most back.
    found.sort(key=lambda f: (f.owner != most, -(f.saves_at_most_ns or 0)))
    return Verdict(headline=_headline(facts, most, parts[most]), findings=tuple(found))


def _headline(facts: Facts, most: str, ns: int) -> Finding:
    run, guess = facts.run, facts.is_guess(most)
    begin = "So far " if run.provisional and not run.root_ended else ""
    label = LABELS[most].lower() if begin else LABELS[most]
    time = f"about {about(ns)}" if guess else str(duration(ns))
    by = ", by estimate" if guess else ""
    return Finding(
        code="cost_most",
        owner=most,
        numbers={"ns": ns, "share": facts.share(ns), "wall_ns": run.wall_ns},
        estimated=guess,
        text=f"{begin}{label} cost most: {time}, {percent(facts.share(ns))} of the run{by}.",
    )


def _second(facts: Facts, parts: dict[str, int], most: str) -> Iterator[Finding]:
    rest = {owner: ns for owner, ns in parts.items() if owner != most}
    second = max(rest, key=rest.__getitem__)
    if facts.matters(rest[second], 0.1):
        yield Finding(
            code="cost_next",
            owner=second,
            numbers={"ns": rest[second], "share": facts.share(rest[second])},
            text=f"{LABELS[second]} cost another {duration(rest[second])}.",
        )


def _estimated(run: RunDetail) -> Iterator[Finding]:
    ns = sum(by_source.get("estimated", 0) for by_source in run.sources_ns.values())
    if ns:
        yield Finding(code="estimated", numbers={"ns": ns}, text=f"{duration(ns)} of the run is split by estimate.")
