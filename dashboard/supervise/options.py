"""The settings that decide what `make up` starts and where, read once from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.embedded.errors import StartError
from dashboard.embedded.places import Places

PORTS = {"SIXSTAGE_PORT": 8000, "SIXSTAGE_OTLP_HTTP_PORT": 4318, "SIXSTAGE_OTLP_GRPC_PORT": 4317}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the environment asks for. A URL that is given means a server that is not ours to start."""

    places: Places
    host: str
    ports: Mapping[str, int]
    workers: int
    production: bool
    database_url: str | None
    redis_url: str | None

    @property
    def reach(self) -> str:
        """The address by which this machine itself reaches us."""
        any_address = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}
        return any_address.get(self.host, f"[{self.host}]" if ":" in self.host else self.host)

    def url(self, port: str) -> str:
        return f"http://{self.reach}:{self.ports[port]}"

    def environment(self) -> dict[str, str]:
        """What every child is given, on top of our own environment."""
        return {
            "SIXSTAGE_MODE": "production" if self.production else "embedded",
            "SIXSTAGE_DATA_DIR": str(self.places.data_dir),
            "SIXSTAGE_HOST": self.host,
            **{name: str(port) for name, port in self.ports.items()},
            "SIXSTAGE_DATABASE_URL": self.database_url or self.places.database_url,
            "SIXSTAGE_REDIS_URL": self.redis_url or self.places.redis_url,
            "SIXSTAGE_WORKERS": str(self.workers),
            "PYTHONUNBUFFERED": "1",
        }


def read_options(env: Mapping[str, str]) -> Options:
    """Read and check the values themselves; every fault is told, not only the first."""
    faults: list[str] = []
    mode = env.get("SIXSTAGE_MODE", "embedded")
    if mode not in ("embedded", "production"):
        faults.append(f"SIXSTAGE_MODE={mode!r}: expected embedded or production")
    for name in ("SIXSTAGE_DATABASE_URL", "SIXSTAGE_REDIS_URL"):
        if mode == "production" and not env.get(name):
            faults.append(f"{name} is not set, and in production nothing is started in its place")
    ports = {name: _number(env, name, default, 1, 65535, faults) for name, default in PORTS.items()}
    for name, port in ports.items():
        twin = next(other for other in ports if ports[other] == port)
        if twin != name:
            faults.append(f"{name} and {twin} are both {port}: give each a port of its own")
    workers = _number(env, "SIXSTAGE_WORKERS", max(2, min(4, os.cpu_count() or 2)), 1, 64, faults)
    if faults:
        raise StartError("\n".join(faults))
    return Options(
        places=Places.of(env.get("SIXSTAGE_DATA_DIR") or ".data"),
        host=env.get("SIXSTAGE_HOST") or "127.0.0.1",
        ports=ports,
        workers=workers,
        production=mode == "production",
        database_url=env.get("SIXSTAGE_DATABASE_URL") or None,
        redis_url=env.get("SIXSTAGE_REDIS_URL") or None,
    )


def _number(env: Mapping[str, str], name: str, default: int, low: int, high: int, faults: list[str]) -> int:
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        faults.append(f"{name}={text!r}: expected a whole number from {low} to {high}")
        return default
    return int(text)
