"""The client's end of a WebSocket, in-process. (Channels' own communicator would bring in a second web server.)"""

from __future__ import annotations

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator

PATIENCE_S = 10


class Listener:
    def __init__(self, application: Any, path: str, headers: dict[str, str]) -> None:
        path, _, query = path.partition("?")
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
            "subprotocols": [],
        }
        self.ends = ApplicationCommunicator(application, scope)

    async def connect(self) -> tuple[bool, int | None]:
        """Whether the socket was accepted, and else the code with which it was closed."""
        await self.ends.send_input({"type": "websocket.connect"})
        answer = await self.ends.receive_output(PATIENCE_S)
        if answer["type"] == "websocket.accept":
            return True, None
        await self.disconnect()
        return False, answer["code"]

    async def hear(self) -> dict[str, Any]:
        message = await self.ends.receive_output(PATIENCE_S)
        assert message["type"] == "websocket.send"
        return dict(json.loads(message["text"]))

    async def closed(self) -> int:
        """The code with which the socket is closed, after whatever it still says."""
        while (message := await self.ends.receive_output(PATIENCE_S))["type"] != "websocket.close":
            pass
        await self.disconnect()
        return int(message["code"])

    async def disconnect(self) -> None:
        await self.ends.send_input({"type": "websocket.disconnect", "code": 1005})
        await self.ends.wait(PATIENCE_S)
