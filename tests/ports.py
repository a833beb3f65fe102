"""Free ports for an instance of a test's own."""

import socket
from contextlib import ExitStack

from dashboard.supervise.options import PORTS


def free_ports() -> dict[str, str]:
    """One free port for each setting; held together while choosing, so that they differ."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in PORTS]
        return {name: str(server.getsockname()[1]) for name, server in zip(PORTS, servers, strict=True)}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
