"""``/metrics`` for Prometheus: counts of all processes, the queue, and histograms of settled runs.

A read token shows its own project's figures and those of the instance that belong to no project.
"""

from __future__ import annotations

import time

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from dashboard.access import Access
from ingest import live
from ingest.observing import exposition, space
from ingest.observing.processes import read_processes
from ingest.observing.queue import read_depth
from ingest.observing.settled import read_settled


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    slugs = {project.pk: project.slug for project in access.projects}
    now_ns = time.time_ns()
    processes, counts = read_processes()
    families = [
        *exposition.counted(counts, slugs),
        *exposition.present(read_depth(now_ns), processes, _worker_silent_s(now_ns)),
        *exposition.space(space.read_space().database_bytes, space.disk_free(settings.CONFIG.data_dir)),
        *exposition.settled(read_settled(list(slugs)), slugs),
    ]
    return HttpResponse(exposition.render(families), content_type=CONTENT_TYPE_LATEST)


def _worker_silent_s(now_ns: int) -> float | None:
    try:
        return live.beat_age_s(now_ns)
    except (redis.RedisError, OSError):
        return None
