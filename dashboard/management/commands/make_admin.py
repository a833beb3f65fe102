from __future__ import annotations

import getpass
import os
import sys
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.models import Membership, Role
from ingest.models import Project


class Command(BaseCommand):
    help = "Make a person an administrator of a project, with a password from the terminal or SIXSTAGE_ADMIN_PASSWORD."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--project", default="default", help="the project's slug (default: %(default)s)")
        parser.add_argument("--email", default="")

    def handle(self, *_args: Any, username: str, project: str, email: str, **_options: Any) -> None:
        home = Project.objects.filter(slug=project).first()
        if home is None:
            known = ", ".join(Project.objects.values_list("slug", flat=True)) or "none yet: run manage.py prepare first"
            raise CommandError(f"no project {project!r}; there are: {known}")
        user, made = User.objects.get_or_create(username=username, defaults={"email": email})
        if made or os.environ.get("SIXSTAGE_ADMIN_PASSWORD"):
            password = _password()
            try:
                validate_password(password, user)
            except ValidationError as error:
                if made:
                    user.delete()
                raise CommandError(" ".join(error.messages)) from error
            user.set_password(password)
            user.save()
        Membership.objects.update_or_create(project=home, user=user, defaults={"role": Role.ADMIN})
        self.stdout.write(f"{username} is an administrator of {home.slug}")


def _password() -> str:
    if given := os.environ.get("SIXSTAGE_ADMIN_PASSWORD"):
        return given
    if not sys.stdin.isatty():
        raise CommandError("no terminal to ask for a password: give SIXSTAGE_ADMIN_PASSWORD")
    return getpass.getpass("Password: ")
