"""Template tags and filters of the product: figures with their units, times, links, the stage bar, sources."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard import bundles, figures
from dashboard.figures import Figure
from dashboard.package_static import library_name
from dashboard.pages.parts import bar, oddities, timing
from dashboard.pages.parts.columns import shown as _shown
from dashboard.pages.parts.safetext import visible
from dashboard.pages.parts.window import Window
from ingest.read.values import RunRow

register = template.Library()
_RANGE_KEPT = {"run": ("range", "from", "to"), "runs": ("range", "from", "to"), "live": ("range",)}


def _known(value: Any) -> Any:
    """A template writes "" where an attribute of None was asked for."""
    return None if value == "" else value


@register.simple_tag
def module(name: str) -> SafeString:
    """A page's script: ``{% module 'run' %}``."""
    return format_html('<script type="module" src="{}"></script>', bundles.script(name))


@register.simple_tag
def styles() -> SafeString:
    """The style sheets that every page has."""
    return format_html('<link rel="stylesheet" href="{}">', bundles.styles())


@register.simple_tag
def import_map() -> SafeString:
    """By which names modules are imported."""
    return mark_safe(json.dumps({"imports": bundles.import_map()}))


@register.filter
def figure(value: Figure) -> SafeString:
    """A Figure that was worked out elsewhere."""
    return _shown(value)


@register.filter
def duration(ns: int | None) -> SafeString:
    return _shown(figures.duration(_known(ns)))


@register.filter
def plain_duration(ns: int | None) -> str:
    """For attributes and sentences, where no markup may stand."""
    return "unknown" if ns is None else str(figures.duration(ns))


@register.filter
def exact(ns: int | None) -> SafeString:
    return _shown(figures.exact(_known(ns)))


@register.filter
def percent(share: float | None) -> SafeString:
    return _shown(figures.percent(_known(share)))


@register.filter
def count(number: int | None) -> SafeString:
    return _shown(figures.count(_known(number)))


@register.filter
def money(amount: str | None, currency: str | None = None) -> SafeString:
    return _shown(figures.cost(_known(amount), currency))


@register.filter
def unknown_calls(calls: int) -> str:
    """What is said beside a sum of costs that some calls are not in."""
    return f"+ {figures.plural(calls, 'call')} of unknown cost"


@register.filter
def nanoseconds(ns: int | None) -> str:
    return "unknown" if ns is None else f"{figures.grouped(ns)}{figures.THIN}ns"


@register.filter
def plural(number: int, word: str) -> str:
    return figures.plural(number, word)


@register.filter
def css_name(stage: str) -> str:
    return bar.css_name(stage)


@register.filter
def stage_label(stage: str) -> str:
    return bar.LABELS[stage]


@register.filter
def when(unix_ns: int | None, form: str = "clock") -> SafeString:
    """A moment. Written in UTC; ``times.js`` turns it into the viewer's zone.

    ``form``: ``clock`` (03:14:20), ``minute`` (03:14), ``day`` (a clock, with the day where it is not today),
    ``moment`` (03:14:20 on 9 Oct 2025), ``short`` (9 Oct 03:14), ``tick`` (03:14, at midnight the day).
    """
    if unix_ns is None:
        return _shown(figures.NOT_KNOWN)
    moment = figures.instant(unix_ns)
    clock = f"{moment:%H:%M}" if form in ("minute", "short", "tick") else f"{moment:%H:%M:%S}"
    text = f"{clock} on {moment.day} {moment:%b %Y}" if form == "moment" else clock
    text = f"{moment.day} {moment:%b} {clock}" if form == "short" else text
    return format_html(
        '<time datetime="{}" data-ns="{}" data-form="{}">{}</time>',
        f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}",
        unix_ns,
        form,
        text,
    )


@register.simple_tag
def library(name: str) -> str:
    """The URL of a front-end library: ``{% library 'plotly' %}``."""
    return static(library_name(name))


@register.simple_tag(takes_context=True)
def page_url(context: template.Context, name: str, *args: Any, **query: Any) -> str:
    """The address of a page, which keeps the project and the zone that the reader chose; to a run and from it also the
    time range, which the run itself does not need, so that the way back leads where one came from."""
    request = context.get("request")
    kept = {key.rstrip("_"): value for key, value in query.items() if value not in (None, "")}
    ranged = _RANGE_KEPT.get(name, ()) if name == "run" or context.get("page_is_run") else ()
    for kept_name in ("project", "zone", *(() if kept.keys() & {*ranged} else ranged)):
        if request is not None and (chosen := request.GET.get(kept_name)):
            kept.setdefault(kept_name, chosen)
    address = reverse(name, args=args)
    return f"{address}?{urlencode(kept)}" if kept else address


@register.inclusion_tag("parts/time_range.html", takes_context=True)
def time_range(context: template.Context, window: Window, live: bool = False) -> dict[str, Any]:
    """The control of a page's time range and zone. A live one ends now always."""
    return timing.control(context["request"], window, live=live)


@register.inclusion_tag("parts/stage_bar.html")
def stage_bar(run: RunRow, size: str = "row", scale_ns: int | None = None, labels: bool = False) -> dict[str, Any]:
    """A run's bar. With ``scale_ns`` its length shows time, as a share of that; otherwise it is full width."""
    drawn = bar.segments(run)
    return {
        "segments": drawn,
        "size": size,
        "labels": labels,
        "open": run.provisional,
        "wall_ns": run.wall_ns,
        "width": f"{run.wall_ns / scale_ns * 100:.2f}" if scale_ns else None,
        "spoken": bar.spoken(drawn, run.wall_ns, so_far=run.provisional),
    }


@register.inclusion_tag("parts/stage_bar.html")
def part_bar(drawn: list[bar.Segment], size: str = "card", scale_ns: int | None = None) -> dict[str, Any]:
    """A bar of segments that a page has worked out itself: a round's, or a call's in the order of time."""
    whole = sum(s.ns for s in drawn)
    return {
        "segments": drawn,
        "size": size,
        "labels": False,
        "open": False,
        "wall_ns": whole,
        "width": f"{whole / scale_ns * 100:.2f}" if scale_ns else None,
        "spoken": bar.spoken(drawn, whole, so_far=False),
    }


@register.inclusion_tag("parts/stage_key.html")
def stage_key() -> dict[str, Any]:
    return {"stages": [(bar.css_name(stage), bar.LABELS[stage]) for stage in bar.ORDER]}


@register.inclusion_tag("parts/source.html")
def source(name: str | None) -> dict[str, Any]:
    return {"name": name}


@register.filter
def safe_text(text: str | None) -> str:
    """Text that somebody sent, without characters that change how other text looks. Escaped like any other."""
    return visible(text or "")


@register.filter
def cache_hit(row: RunRow) -> float | None:
    """The share of prompt tokens that came from the cache; works for a run and for a call."""
    return figures.share_of(row.cached_tokens, row.input_tokens)


@register.filter
def durations_in_words(text: str) -> str:
    """A warning keeps its nanoseconds in the store; people read them as any other duration."""
    return re.sub(r"\b(\d+) ns\b", lambda found: str(figures.duration(int(found[1]))), text)


@register.filter
def what_it_does(code: str) -> str:
    """What a warning means for the figures; nothing for a code that nobody has explained."""
    told = oddities.EFFECTS.get(code, "")
    return f"Figures: {told}." if told else ""
