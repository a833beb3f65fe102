"""The time range and zone control that all pages share: links that change the range, and what it shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, QueryDict

from dashboard.pages.parts.window import RANGES, Window

IN_SIGHT = 4  # the others are in the menu
RANGE_PARAMETERS = ("range", "from", "to", "cursor")


def control(request: HttpRequest, window: Window, *, live: bool) -> dict[str, Any]:
    """``kept`` are the parameters that a form beside the links carries on."""

    def link(**changes: str) -> str:
        query = request.GET.copy()
        for name in RANGE_PARAMETERS:
            query.pop(name, None)
        query.update(changes)
        return f"{request.path}?{query.urlencode()}"

    presets = [(one.label, link(range=one.key), window.range == one) for one in RANGES]
    odd = window.range is not None and not any(chosen for _, _, chosen in presets)
    access = getattr(request, "access", None)
    return {
        "presets": presets[:IN_SIGHT], "longer": presets[IN_SIGHT:], "window": window, "live": live, "odd": odd,
        "open_menu": not window.range or odd or any(chosen for _, _, chosen in presets[IN_SIGHT:]),
        "kept": _pairs(request.GET, (*RANGE_PARAMETERS,)), "kept_but_zone": _pairs(request.GET, ("zone", "cursor")),
        "zone": request.GET.get("zone", ""), "project_zone": access.project.zone if access else "UTC",
    }  # fmt: skip


def _pairs(parameters: QueryDict, left_out: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, value) for name, values in parameters.lists() if name not in left_out for value in values]
