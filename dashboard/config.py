"""Settings from the environment: read once, typed, and failing with the variable's name."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")
PREFIX = "SIXSTAGE_"


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Environment:
    """Typed reader of ``SIXSTAGE_*`` variables. An empty value counts as not given."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def text(self, name: str, default: str) -> str:
        return self.values.get(PREFIX + name) or default

    def required(self, name: str, why: str) -> str:
        value = self.values.get(PREFIX + name)
        if not value:
            raise ImproperlyConfigured(f"{PREFIX}{name} is not set: {why}")
        return value

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in choices:
            raise ImproperlyConfigured(f"{PREFIX}{name}={value!r}: expected one of {', '.join(choices)}")
        return value

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        return self._parse(name, default, int, lambda n: low <= n <= high, f"a whole number from {low} to {high}")

    def port(self, name: str, default: int) -> int:
        return self.integer(name, default, 1, 65535)

    def flag(self, name: str, default: bool) -> bool:
        words = {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }
        value = self.values.get(PREFIX + name, "").lower()
        if not value:
            return default
        if value not in words:
            raise ImproperlyConfigured(f"{PREFIX}{name}={value!r}: expected true or false")
        return words[value]

    def names(self, name: str) -> list[str]:
        """A comma-separated list."""
        return [part.strip() for part in self.text(name, "").split(",") if part.strip()]

    def _parse(self, name: str, default: T, parse: Callable[[str], T], fits: Callable[[T], bool], expected: str) -> T:
        given = self.values.get(PREFIX + name)
        if not given:
            return default
        try:
            value = parse(given)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise ImproperlyConfigured(f"{PREFIX}{name}={given!r}: expected {expected}")
        return value


@dataclass(frozen=True, kw_only=True)
class Config:
    """What this instance is. ``open`` means: embedded and reachable from this machine only, so no log-in."""

    mode: str
    data_dir: Path
    host: str
    port: int
    otlp_http_port: int
    otlp_grpc_port: int
    database_url: str
    redis_url: str
    secret_key: str
    encryption_key: str
    public_url: str
    allowed_hosts: list[str]
    behind_proxy: bool
    trace_idle_s: int
    body_limit_bytes: int
    retention_days: int
    rollup_minute_days: int
    rollup_hour_days: int
    rollup_keys: int
    pending_limit_bytes: int
    reading_limit_bytes: int
    max_attribute_bytes: int
    min_free_bytes: int
    max_database_bytes: int
    backlog_traces: int
    backlog_age_s: int
    disk_path: Path | None
    log_format: str
    allowed_targets: list[str]
    engines_file: Path | None
    prices_file: Path | None
    smtp_host: str
    smtp_port: int
    smtp_security: str
    smtp_user: str
    smtp_password: str
    smtp_from: str

    @property
    def open(self) -> bool:
        return self.mode == "embedded" and is_loopback(self.host)


def read_config(values: Mapping[str, str] = os.environ) -> Config:
    """The configuration that the environment describes.

    Raises ImproperlyConfigured with the name of the first variable that is missing or cannot be read.
    """
    env = Environment(values)
    mode = env.choice("MODE", "embedded", ("embedded", "production"))
    data_dir = Path(env.text("DATA_DIR", ".data")).absolute()
    disk_path: Path | None = None
    encryption_key = env.text("ENCRYPTION_KEY", "")
    engines_file = env.text("ENGINES_FILE", "")
    host, port = env.text("HOST", "127.0.0.1"), env.port("PORT", 8000)
    if mode == "production":
        database_url = env.required("DATABASE_URL", "in production PostgreSQL must be given as a URL")
        redis_url = env.required("REDIS_URL", "in production Valkey or Redis must be given as a URL")
        secret_key = env.required("SECRET_KEY", "in production give 50 or more random characters")
        public_url = env.required("PUBLIC_URL", "in production say under which URL people reach the pages")
        if not env.names("ALLOWED_HOSTS"):
            env.required("ALLOWED_HOSTS", "in production list the host names that clients may use, commas between")
    else:
        from dashboard import embedded

        kept_database_url, kept_redis_url = embedded.urls(data_dir)
        database_url = env.text("DATABASE_URL", kept_database_url)
        redis_url = env.text("REDIS_URL", kept_redis_url)
        disk_path = data_dir if database_url == kept_database_url else None
        secret_key = env.text("SECRET_KEY", "") or embedded.kept_secret(data_dir, "secret-key")
        encryption_key = encryption_key or embedded.kept_secret(data_dir, "encryption-key")
        public_url = env.text("PUBLIC_URL", f"http://{host}:{port}")
    return Config(
        mode=mode, data_dir=data_dir, host=host, port=port,
        otlp_http_port=env.port("OTLP_HTTP_PORT", 4318), otlp_grpc_port=env.port("OTLP_GRPC_PORT", 4317),
        database_url=database_url, redis_url=redis_url, secret_key=secret_key, encryption_key=encryption_key,
        public_url=public_url.rstrip("/"),
        allowed_hosts=env.names("ALLOWED_HOSTS") + (local_names(host) if mode == "embedded" else []),
        behind_proxy=env.flag("BEHIND_PROXY", False),
        trace_idle_s=env.integer("TRACE_IDLE_S", 30, 1, 86_400),
        body_limit_bytes=env.integer("BODY_LIMIT_MIB", 64, 1, 1024) << 20,
        retention_days=env.integer("RETENTION_DAYS", 30, 1, 3650),
        rollup_minute_days=env.integer("ROLLUP_MINUTE_DAYS", 8, 1, 3650),
        rollup_hour_days=env.integer("ROLLUP_HOUR_DAYS", 400, 1, 3650),
        rollup_keys=env.integer("ROLLUP_KEYS", 500, 1, 100_000),
        pending_limit_bytes=env.integer("PENDING_LIMIT_MIB", 64, 1, 4096) << 20,
        reading_limit_bytes=env.integer("READING_LIMIT_MIB", 128, 1, 65_536) << 20,
        max_attribute_bytes=env.integer("MAX_ATTRIBUTE_BYTES", 1_000_000, 1024, 1 << 30),
        min_free_bytes=env.integer("MIN_FREE_BYTES", 1 << 30, 0, 1 << 50),
        max_database_bytes=env.integer("MAX_DATABASE_BYTES", 0, 0, 1 << 60),
        backlog_traces=env.integer("BACKLOG_TRACES", 500_000, 0, 1 << 31),
        backlog_age_s=env.integer("BACKLOG_AGE_S", 6 * 3600, 0, 86_400 * 365),
        disk_path=disk_path,
        log_format=env.choice("LOG_FORMAT", "json" if mode == "production" else "text", ("json", "text")),
        allowed_targets=env.names("ALLOWED_TARGETS"), engines_file=Path(engines_file) if engines_file else None,
        prices_file=Path(given).absolute() if (given := env.text("PRICES_FILE", "")) else None,
        **_smtp(env),
    )  # fmt: skip


def _smtp(env: Environment) -> dict[str, Any]:
    """The mail server; without a host no mail is sent."""
    security = env.choice("SMTP_SECURITY", "starttls", ("starttls", "tls", "none"))
    host = env.text("SMTP_HOST", "")
    if host and not env.text("SMTP_FROM", ""):
        env.required("SMTP_FROM", "mails need a sender, such as Sixstage <alerts@example.org>")
    return {
        "smtp_host": host, "smtp_port": env.port("SMTP_PORT", {"starttls": 587, "tls": 465, "none": 25}[security]),
        "smtp_security": security, "smtp_user": env.text("SMTP_USER", ""),
        "smtp_password": env.text("SMTP_PASSWORD", ""), "smtp_from": env.text("SMTP_FROM", ""),
    }  # fmt: skip


def database_number(redis_url: str) -> str:
    """The database that a Redis URL names, in its path or as ``db``; 0 where it names none."""
    parts = urlsplit(redis_url)
    return parse_qs(parts.query).get("db", [""])[0] or (parts.path.strip("/") if parts.scheme != "unix" else "") or "0"


def local_names(host: str) -> list[str]:
    """The host names under which an embedded instance may be addressed."""
    names = ["localhost", "127.0.0.1", "[::1]"]
    return names if is_loopback(host) or host in ("0.0.0.0", "::") else [*names, host]
