"""The columns that a list of runs can have, and what stands in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard import figures
from dashboard.figures import Figure
from dashboard.pages.parts.bar import LABELS, ORDER
from dashboard.pages.parts.safetext import visible
from ingest.read.values import RunRow

Say = Callable[[RunRow], SafeString]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """``sort`` is the order that its head chooses, most first, and ``sort_up`` the other way round."""

    key: str
    label: str
    title: str = ""
    css: str = ""
    sort: str = ""
    sort_up: str = ""
    say: Say | None = None
    priced: bool = False

    @property
    def is_number(self) -> bool:
        return self.css.startswith("n")


@lru_cache(maxsize=4_096)  # a page says the same few hundred figures again and again, and most say a dash
def shown(figure: Figure) -> SafeString:
    if figure == figures.NOT_KNOWN:
        return format_html('<span class="none">{}</span>', figure.value)
    if not figure.unit:
        return format_html("{}", figure.value)
    return format_html('{}<span class="u">{}{}</span>', figure.value, figures.THIN, figure.unit)


def _figure(key: str, label: str, read: Callable[[RunRow], Figure], title: str = "", sort: str = "") -> Column:
    return Column(
        key=key, label=label, title=title, css="n", sort=sort, sort_up=f"{sort}.up" if sort else "",
        say=lambda run: shown(read(run)),
    )  # fmt: skip


def _text(key: str, label: str, read: Callable[[RunRow], str | None], title: str = "") -> Column:
    def say(run: RunRow) -> SafeString:
        text = visible(read(run) or "")
        return format_html('<span class="clip" title="{}">{}</span>', text, text) if text else shown(figures.NOT_KNOWN)

    return Column(key=key, label=label, title=title, css="soft", say=say)


def _cost(run: RunRow) -> SafeString:
    rest = figures.plural(run.cost_unknown_calls, "call") if run.cost and run.cost_unknown_calls else ""
    title = f"{run.cost} {run.currency}{f' + {rest} of unknown cost' if rest else ''}" if run.cost else ""
    more = format_html('<span class="mute">+?</span>') if rest else ""
    return format_html('<span title="{}">{}{}</span>', title, shown(figures.cost(run.cost)), more)


def _models(run: RunRow) -> SafeString:
    return format_html('<span class="clip" title="{}">{}</span>', ", ".join(run.models), visible(run.model or "–"))


def _tools(run: RunRow) -> SafeString:
    return format_html_join(", ", "{}", ((visible(name),) for name in dict.fromkeys(run.tool_names)))


def _stage(stage: str) -> Column:
    return _figure(
        stage, LABELS[stage],
        lambda run: figures.duration((run.stages_ns | run.outside_ns)[stage]), sort=stage,
    )  # fmt: skip


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column(key="ended", label="Ended", sort="newest", sort_up="oldest", css="soft"),
        Column(key="run", label="Run"),
        Column(key="wall", label="Wall", css="n", sort="slowest", sort_up="fastest"),
        Column(key="stages", label="Stages"),
        _figure("ttft", "TTFT", lambda run: figures.duration(run.ttft_ns),
                "From the run’s start to the first token of its answer", "ttft"),
        _figure("first_token", "First token", lambda run: figures.duration(run.first_token_ns),
                "From the run’s start to the first token of any call", "first_token"),
        _figure("ttft_sum", "Σ TTFT", lambda run: figures.duration(run.ttft_sum_ns),
                "First-token times of all its calls together", "ttft_sum"),
        _figure("rounds", "Rounds", lambda run: figures.count(run.rounds), sort="rounds"),
        _figure("tools", "Tools", lambda run: figures.count(run.tool_count), "Tool calls", "tools"),
        _figure("hit", "Hit", lambda run: figures.percent(figures.share_of(run.cached_tokens, run.input_tokens)),
                "Share of the prompt tokens that came from the cache"),
        _figure("tokens", "Tokens in", lambda run: figures.count(run.input_tokens), sort="tokens"),
        _figure("tokens_out", "Tokens out", lambda run: figures.count(run.output_tokens), sort="tokens_out"),
        _figure("spans", "Spans", lambda run: figures.count(run.spans), sort="spans"),
        Column(key="cost", label="Cost", title="By the prices on the settings page", css="n", say=_cost, priced=True),
        Column(key="model", label="Model", css="soft", say=_models),
        _text("service", "Service", lambda run: run.service),
        _text("agent", "Agent", lambda run: run.agent),
        _text("version", "Version", lambda run: run.version),
        _text("environment", "Environment", lambda run: run.environment),
        _text("engine", "Engine", lambda run: run.engine),
        _text("session", "Session", lambda run: run.session_id),
        _text("user", "User", lambda run: run.user_id),
        Column(key="tool_names", label="Tools asked for", css="soft", say=_tools),
        _text("error", "Error", lambda run: run.error),
        *(_stage(stage) for stage in ORDER),
    )
}  # fmt: skip
USUAL = ("ended", "run", "wall", "stages", "ttft", "rounds", "hit", "tokens", "cost", "model")
ALWAYS = ("run",)


def chosen_columns(told: str, *, priced: bool) -> tuple[list[Column], list[str]]:
    """The columns of a list in their order, and in words what was told and is none. Without prices there is no cost."""
    names = [name for name in told.split(",") if name] or list(USUAL)
    unknown = [name for name in names if name not in COLUMNS]
    names = [name for name in dict.fromkeys([*names, *ALWAYS]) if name in COLUMNS]
    in_order = [column for key, column in COLUMNS.items() if key in names and (priced or not column.priced)]
    problem = f"columns={','.join(unknown)}: expected some of {', '.join(COLUMNS)}; the others are shown."
    return in_order, [problem] if unknown else []


def cells(run: RunRow, columns: Sequence[Column]) -> list[tuple[Column, SafeString]]:
    """Columns with what stands in them; those that the row's template draws itself are empty."""
    return [(column, column.say(run) if column.say else SafeString("")) for column in columns]
