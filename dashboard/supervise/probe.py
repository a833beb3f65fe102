"""`python -m dashboard.supervise.probe PORT [PATH]`: a container's health check, for images without curl."""

import http.client
import os
import socket
import sys


def probe(port: int, path: str | None = None) -> bool:
    """Whether the port takes a connection, and the path (if one is given) answers 200."""
    try:
        if path is None:
            socket.create_connection(("127.0.0.1", port), timeout=4).close()
            return True
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
        # a name that the instance goes by: it refuses requests that are addressed to any other
        name = os.environ.get("SIXSTAGE_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip("*.")
        connection.request("GET", path, headers={"Host": name or "localhost"})
        return connection.getresponse().status == 200
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(not probe(int(sys.argv[1]), *sys.argv[2:3]))
