"""`python -m dashboard.set_up`: what an instance needs before its processes start.

The schema, then what stands in it: `manage.py migrate` and `manage.py prepare`, in one process since loading
Django twice costs more than both commands do.
"""

import os
import sys
import time
from collections.abc import Callable

import django
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections

TRIES, PAUSE_S = 10, 1.0


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    _until_it_answers(_prepare)


def _prepare() -> None:
    call_command("migrate", interactive=False, verbosity=0)
    try:
        call_command("prepare")
    except CommandError as refused:
        sys.exit(str(refused))


def _until_it_answers(work: Callable[[], None]) -> None:
    """Again where the database ended the session or recovers, as after one of its processes was killed: each migration
    is done as a whole or not at all. Raises OperationalError when it has been tried TRIES times."""
    for left in reversed(range(TRIES)):
        try:
            work()
            break
        except OperationalError as error:
            if not left:
                raise
            sys.stdout.write(f"the database does not answer, trying again: {str(error).splitlines()[0]}\n")
            sys.stdout.flush()
            connections.close_all()
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
