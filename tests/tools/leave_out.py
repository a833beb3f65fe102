"""How well are emitters read that nobody saw while rules were written? An estimate after the fact, from several sides.

    python -m tests.tools.leave_out [--seeds 10] [-v]

The emitters of tests/data/corpus (versions of one library together) are split at random into three parts, and each part
is left out once. A *rule* is a line of ingest/semconv or ingest/stages that was executed, an attribute key that was
asked for and there, a word of an adapter's tables (a span kind, a message template) or an event's name. What only the
part left out uses may have been written for it.

    needs nothing   right, and uses no such rule at all. These would have been right without having been seen. A lower
                    bound: most lines that one emitter alone happens to run decide nothing
    known dialect   right, and uses no such line of ingest/stages. These would have been right had their convention's
                    names been known, from its documentation say, and nothing else of them
    words hidden    right although the keys, words and events of such rules are taken from their spans. Lines cannot be
                    taken away like that, and keys inside JSON documents are not: what names alone are worth, no bound

Captures are judged as tests/tools/judge.py does, on what the kernel makes of them, without an instance.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import django
from msgspec.structs import replace

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup()

from ingest import semconv, shapes, stages  # noqa: E402
from ingest.spans import Event, Span  # noqa: E402
from ingest.stages import Run, decompose  # noqa: E402
from tests.captured_traces import traces_of  # noqa: E402
from tests.captures import Capture, captures  # noqa: E402
from tests.tools import judge  # noqa: E402

SCENARIOS = (
    "bare",
    "fail",
    "llmretry",
    "long",
    "mcp",
    "nostream",
    "parallel",
    "serial",
    "session2",
    "subagent",
    "three",
)
RARER = ("timeout", "latest", "http")
FOLDERS = tuple(str(Path(package.__file__ or "").parent) for package in (semconv, stages))
PARTS = 3
WAYS = ("needs nothing", "known dialect", "words hidden")
Rule = tuple[str, str]  # what kind of rule, and which
Traces = Mapping[str, Sequence[Span]]


class Asked(dict[str, Any]):
    """Attributes that note which of their keys were asked for and there."""

    def __init__(self, attributes: Mapping[str, Any], found: set[Rule], words: frozenset[str]) -> None:
        super().__init__(attributes)
        self.found, self.words = found, words

    def _note(self, key: str) -> None:
        if dict.__contains__(self, key):
            self.found.add(("key", numberless(key)))
            word = word_of(dict.__getitem__(self, key), self.words)
            if word is not None:
                self.found.add(("word", f"{numberless(key)}={word}"))

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return dict.get(self, key, default)

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self._note(str(key))
        return dict.__contains__(self, key)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many splits to average over")
    parser.add_argument("-v", action="store_true", help="name what is wrong with words hidden, and the words")
    args = parser.parse_args()
    corpus = captures("corpus")
    emitters = sorted({emitter_of(capture) for capture in corpus})
    right = {capture.name for capture in corpus if is_right(capture, traces_of(capture))}
    rules = {capture.name: rules_of(capture) for capture in corpus}
    print(f"{len(emitters)} emitters, {len(corpus)} captures; all seen: {len(right)} right")
    sums: Counter[str] = Counter()
    for seed in range(args.seeds):
        held = left_out(corpus, emitters, rules, right, seed, verbose=args.v)
        print(f"seed {seed}: " + ", ".join(f"{name} {held[name]}" for name in WAYS))
        sums += held
    for name in WAYS:
        mean = sums[name] / args.seeds
        print(f"{name:14} {mean:5.1f} of {len(corpus)} on average ({mean / len(corpus):.0%})")
    return 0


def left_out(
    corpus: Sequence[Capture],
    emitters: Sequence[str],
    rules: Mapping[str, set[Rule]],
    right: set[str],
    seed: int,
    verbose: bool,
) -> Counter[str]:
    """How many captures of the parts left out were right, each way."""
    shuffled = list(emitters)
    random.Random(seed).shuffle(shuffled)
    held: Counter[str] = Counter()
    for number in range(PARTS):
        part = set(shuffled[number::PARTS])
        seen = set().union(*(rules[capture.name] for capture in corpus if emitter_of(capture) not in part))
        for capture in corpus:
            if emitter_of(capture) not in part:
                continue
            alone = rules[capture.name] - seen
            known = capture.name in right
            held["needs nothing"] += known and not alone
            held["known dialect"] += known and not any(which.startswith("stages/") for _, which in alone)
            stays = is_right(capture, hidden(traces_of(capture), alone))
            held["words hidden"] += stays
            if verbose and not stays:
                print(f"  {capture.name} without {sorted(which for kind, which in alone if kind != 'line')}")
    return held


def emitter_of(capture: Capture) -> str:
    """`otel-openai-v2` of `otel-openai-v2-latest-parallel`."""
    words = capture.name.split("-")
    known = next((place for place, word in enumerate(words) if word in (*SCENARIOS, *RARER)), len(words))
    return "-".join(words[:known])


def rules_of(capture: Capture) -> set[Rule]:
    """The rules that the capture uses."""
    found: set[Rule] = set()
    words = vocabulary()
    traces = {
        trace_id: [_noting(span, found, words) for span in spans] for trace_id, spans in traces_of(capture).items()
    }
    with_lines_noted(found, lambda: [decompose(spans) for spans in traces.values()])
    for spans in traces_of(capture).values():
        found |= {("event", numberless(event.name)) for span in spans for event in span.events}
    return found


def _noting(span: Span, found: set[Rule], words: frozenset[str]) -> Span:
    events = tuple(replace(event, attributes=Asked(event.attributes, found, words)) for event in span.events)
    return replace(span, attributes=Asked(span.attributes, found, words), events=events)


def with_lines_noted(found: set[Rule], act: Callable[[], Any]) -> None:
    """Note which lines of the model are executed. What it remembers from before would hide some."""
    shapes._shapes.clear()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code.co_filename
        if not code.startswith(FOLDERS):
            return None
        if event == "line":
            path = Path(code)
            found.add(("line", f"{path.parent.name}/{path.name}:{frame.f_lineno}"))
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(None)


def vocabulary() -> frozenset[str]:
    """All words in the tables of adapters and stages."""
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("ingest.semconv.", "ingest.stages.")) and isinstance(module, ModuleType)
    ]
    tables = [value for module in modules for name, value in vars(module).items() if name.isupper()]
    return frozenset(word for table in tables if not isinstance(table, str) for word in _words(table))


def _words(table: Any) -> Iterable[str]:
    if isinstance(table, str):
        yield table
    elif isinstance(table, Mapping):
        yield from (key for key in table if isinstance(key, str))
    elif isinstance(table, tuple | frozenset | set | list):
        for item in table:
            yield from _words(item)


def word_of(value: Any, words: frozenset[str]) -> str | None:
    """The word of the tables that an attribute's value is, or begins with where it is a message template."""
    if not isinstance(value, str) or len(value) > 200:
        return None
    plain = value.strip('"')
    if plain in words:
        return plain
    return next((word for word in words if " " in word and plain.startswith(word)), None)


def hidden(traces: Traces, rules: set[Rule]) -> Traces:
    """The spans without the keys, words and events that these rules name."""
    words = vocabulary()

    def less(attributes: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value
            for key, value in attributes.items()
            if ("key", numberless(key)) not in rules
            and ("word", f"{numberless(key)}={word_of(value, words)}") not in rules
        }

    def events(span: Span) -> tuple[Event, ...]:
        kept = (event for event in span.events if ("event", numberless(event.name)) not in rules)
        return tuple(replace(event, attributes=less(event.attributes)) for event in kept)

    return {
        trace_id: [replace(span, attributes=less(span.attributes), events=events(span)) for span in spans]
        for trace_id, spans in traces.items()
    }


def numberless(name: str) -> str:
    return re.sub(r"\d+", "N", name)


def is_right(capture: Capture, traces: Traces) -> bool:
    """Whether the judge has nothing to say of what the kernel makes of these spans."""
    runs = [_as_told(run) for spans in traces.values() for run in decompose(spans).runs]
    asked = judge.runs_of
    judge.runs_of = lambda *_: runs
    try:
        return not any(judge.judge("", capture.folder, [], 0).values())
    except (KeyError, TypeError, ValueError):
        return False
    finally:
        judge.runs_of = asked


def _as_told(run: Run) -> dict[str, Any]:
    """A run as the API tells it, as far as the judge asks."""
    broken = run.breakdown
    told: dict[str, Any] = defaultdict(lambda: None)
    told |= {
        "run_id": run.run_id, "provisional": False, "wall_ns": broken.wall_ns, "session_id": run.session_id,
        "stages_ns": dict(broken.stages_ns), "outside_ns": dict(broken.outside_ns), "busy_ns": dict(broken.busy_ns),
        "sources": dict(broken.sources),
        "calls": [{name: getattr(call, name) for name in call.__slots__} for call in run.calls],
        "tools": [{name: getattr(tool, name) for name in tool.__slots__} for tool in run.tools],
    }  # fmt: skip
    return told


if __name__ == "__main__":
    sys.exit(main())
