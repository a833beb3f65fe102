"""`python -m dashboard.set_up`: what an instance needs before its processes start.

The schema, then what stands in it: `manage.py migrate` and `manage.py prepare`, in one process since loading
Django twice costs more than both commands do.
"""

import os
import sys

import django
from django.core.management import CommandError, call_command


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    call_command("migrate", interactive=False, verbosity=0)
    try:
        call_command("prepare")
    except CommandError as refused:
        sys.exit(str(refused))


if __name__ == "__main__":
    main()
