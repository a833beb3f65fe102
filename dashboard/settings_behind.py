"""Django's settings in processes that serve no page: without the apps that only pages need. Importing ninja alone takes
20 MB in each of them."""

from __future__ import annotations

from dashboard.settings import *  # noqa: F403
from dashboard.settings import INSTALLED_APPS as ALL_APPS

INSTALLED_APPS = [app for app in ALL_APPS if app not in ("ninja", "django_htmx", "servestatic")]
