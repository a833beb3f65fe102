"""System checks: combinations of settings that start, but should not be left so. ``manage.py check`` runs them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from dashboard.config import Config, is_loopback

SECRET_LEAST = 40  # 32 random bytes in base64 have 43


@register(Tags.security)
def check_instance(**_: Any) -> list[CheckMessage]:
    """What is wrong with this instance's configuration."""
    return [*problems_of(settings.CONFIG), *_process_problems()]


def problems_of(config: Config) -> list[CheckMessage]:
    in_production = config.mode == "production"
    found: list[CheckMessage] = []
    if len(config.secret_key) < SECRET_LEAST or len(set(config.secret_key)) < 5:
        found.append((Error if in_production else Warning)(
            f"SIXSTAGE_SECRET_KEY is weak: under {SECRET_LEAST} characters, or hardly any different ones.",
            hint="Make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'", id="dashboard.E001",
        ))  # fmt: skip
    if not in_production:
        return found
    if not config.public_url.startswith("https://"):
        found.append(Warning(
            "SIXSTAGE_PUBLIC_URL is not https: passwords, keys and tokens travel in the clear.",
            hint="Put a proxy with TLS in front, give its https:// address and set SIXSTAGE_BEHIND_PROXY=true.",
            id="dashboard.W001",
        ))  # fmt: skip
    if "*" in config.allowed_hosts:
        found.append(Error(
            "SIXSTAGE_ALLOWED_HOSTS allows every host, so a foreign name can be pointed at this instance.",
            hint="List the names under which clients reach it, commas between.", id="dashboard.E002",
        ))  # fmt: skip
    if config.public_url.startswith("https://") and is_loopback(config.host) and not config.behind_proxy:
        found.append(Warning(
            "The pages are said to be https, but nothing here speaks TLS and no proxy is named.",
            hint="Set SIXSTAGE_BEHIND_PROXY=true if a proxy on this machine sets X-Forwarded-Proto.",
            id="dashboard.W002",
        ))  # fmt: skip
    return found


def _process_problems() -> list[CheckMessage]:
    """What only code could have changed, never the environment."""
    found: list[CheckMessage] = []
    if settings.DEBUG:
        found.append(Error("DEBUG is on: error pages would show settings and data.",
                           hint="Leave DEBUG = False in dashboard/settings.py.", id="dashboard.E003"))  # fmt: skip
    if settings.CHANNEL_LAYERS["default"]["BACKEND"].endswith("InMemoryChannelLayer"):
        found.append(Error(
            "The in-memory channel layer does not reach other processes, so no page would hear of a run.",
            hint="Leave CHANNEL_LAYERS to SIXSTAGE_REDIS_URL.", id="dashboard.E004",
        ))  # fmt: skip
    if settings.SIXSTAGE_OPEN and not is_loopback(settings.SIXSTAGE_HOST):
        found.append(Error(
            "An instance without log-in is bound to an address that other machines can reach.",
            hint="Bind it to 127.0.0.1, or leave SIXSTAGE_OPEN to dashboard.config.", id="dashboard.E005",
        ))  # fmt: skip
    return found
