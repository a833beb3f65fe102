"""The live socket: says *what* changed, coalesced; the page asks for the rest."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError

from dashboard.access import Access, AccessRefused, resolve
from ingest.live import IDS_A_MESSAGE, group

COALESCE_S = 0.5
BEAT_S = 5.0
BEATS_A_LOOK = 6  # a revoked token or a removed member listens for half a minute at most


class LiveConsumer(AsyncWebsocketConsumer):
    """Sends ``hello`` once, ``beat`` every five seconds, and ``runs`` at most twice a second."""

    group_name: str | None = None

    async def connect(self) -> None:
        try:
            access = await self._access()
        except AccessRefused as refused:
            await self.close(code=4000 + refused.status, reason=refused.message[:120])
            return
        self.changed: dict[str, None] = {}
        self.count = 0
        self.flushed_at = 0.0
        self.flushing: asyncio.TimerHandle | None = None
        self.group_name = group(access.scope.project_id)
        await self.channel_layer.group_add(self.group_name, self.channel_name)
        await self.accept()
        await self._say("hello")
        self.beating = asyncio.create_task(self._beat())

    async def _access(self) -> Access:
        """What this socket may see now. Raises AccessRefused."""
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        authorization = dict(self.scope["headers"]).get(b"authorization", b"").decode("latin-1")
        user = await get_user(self.scope)
        return await database_sync_to_async(resolve)(user, authorization, query.get("project", [None])[0])

    async def disconnect(self, code: int) -> None:
        if self.group_name is None:
            return
        self.beating.cancel()
        if self.flushing is not None:
            self.flushing.cancel()
        await self.channel_layer.group_discard(self.group_name, self.channel_name)

    async def runs_changed(self, message: dict[str, Any]) -> None:
        """From the channel layer: tell at once after a quiet time, else with what else changes meanwhile."""
        self.changed |= dict.fromkeys(message["run_ids"])
        self.count += message["count"]
        if self.flushing is None:
            loop = asyncio.get_running_loop()
            delay_s = max(0.0, self.flushed_at + COALESCE_S - loop.time())
            self.flushing = loop.call_later(delay_s, lambda: loop.create_task(self._flush()))

    async def _flush(self) -> None:
        self.flushing = None
        self.flushed_at = asyncio.get_running_loop().time()
        run_ids, count = list(self.changed)[-IDS_A_MESSAGE:], self.count
        self.changed, self.count = {}, 0
        await self._say("runs", run_ids=run_ids, count=count)

    async def _beat(self) -> None:
        """A sign of life; and from time to time a look whether the reader still may listen."""
        for beat in itertools.count(1):
            await asyncio.sleep(BEAT_S)
            if beat % BEATS_A_LOOK == 0 and (refused := await self._refused_by_now()):
                await self.close(code=4000 + refused.status, reason=refused.message[:120])
                return
            await self._say("beat")

    async def _refused_by_now(self) -> AccessRefused | None:
        try:
            await self._access()
        except AccessRefused as refused:
            return refused
        except DatabaseError:
            return None  # the database is away; the next look will tell
        return None

    async def _say(self, kind: str, **values: Any) -> None:
        with suppress(RuntimeError, OSError):  # the page has left, and its disconnect is on its way here
            await self.send(text_data=json.dumps({"kind": kind, **values}))
