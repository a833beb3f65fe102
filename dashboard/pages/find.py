"""Find anything: an id leads to its run, the name of a page to the page, other text to the runs that hold it."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from ingest.read.query.parser import in_quotes, parse
from ingest.read.query.terms import BadQuery
from ingest.read.run import current_run_id
from ingest.read.runs import RunFilter, find_runs
from ingest.scope import Scope

PAGES = ("live", "runs", "engines", "settings", "status", "start")
_RUN = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")
_TRACE = re.compile(r"[0-9a-f]{32}")
_IDS_FROM = 8  # hex digits that are more likely a trace than a word
WIDE = "30d"


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "").replace("\0", "").strip()
    name, ids, query = _place(request.access.scope, text)  # type: ignore[attr-defined]
    if project := request.GET.get("project"):
        query["project"] = project
    return HttpResponseRedirect(reverse(name, args=ids) + (f"?{urlencode(query)}" if query else ""))


def _place(scope: Scope, text: str) -> tuple[str, list[str], dict[str, str]]:
    low = text.lower()
    if low in PAGES:
        return low, [], {}
    if _RUN.fullmatch(low):
        return "run", [current_run_id(scope, low) or low], {}
    if _TRACE.fullmatch(low):
        runs = find_runs(scope, RunFilter(q=f"trace:{low}", limit=2), now_ns=0).runs
        if len(runs) == 1:
            return "run", [runs[0].run_id], {}
    if len(low) >= _IDS_FROM and re.fullmatch(r"[0-9a-f]+", low):
        return "runs", [], {"q": f"trace:{low[:32]}", "range": WIDE}
    return "runs", [], ({"q": _as_query(text), "range": WIDE} if text else {})


def _as_query(text: str) -> str:
    """What is no query is text to be found."""
    try:
        parse(text)
    except BadQuery:
        return in_quotes(text)
    return text
