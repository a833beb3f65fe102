"""Changes to projects and to who may see them. Each function keeps the rules; pages and commands only call it."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import available_timezones

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.models import Membership, ReadToken, Role
from ingest.models.project import IngestKey, Project
from ingest.price_list import PricesRefused, parse_toml
from ingest.prices import write_table

NAME_MOST, SLUG_MOST = 200, 50
SPANS_PER_S_MOST, MIB_PER_DAY_MOST = 1_000_000_000, 1_000_000_000


class ChangeRefused(Exception):
    """A change that would break a rule; the message tells the reader which."""


def create_project(slug: str, name: str, zone: str, creator: AbstractBaseUser | AnonymousUser) -> Project:
    """A new project. Its creator becomes its administrator; on an open instance nobody need be."""
    slug = slug.strip()
    try:
        validate_slug(slug)
    except ValidationError:
        raise ChangeRefused("A short name has letters, digits, hyphens and underscores only.") from None
    if len(slug) > SLUG_MOST:
        raise ChangeRefused(f"A short name has at most {SLUG_MOST} characters.")
    try:
        with transaction.atomic():
            project = Project.objects.create(slug=slug, name=_name(name), zone=_zone(zone))
            if creator.is_authenticated:
                Membership.objects.create(project=project, user=creator, role=Role.ADMIN)
    except IntegrityError:
        raise ChangeRefused(f"The short name {slug} is taken; choose another.") from None
    return project


def rename_project(project: Project, name: str, zone: str) -> None:
    project.name, project.zone = _name(name), _zone(zone)
    project.save(update_fields=["name", "zone"])


def set_limits(project: Project, spans_per_s: str, mib_per_day: str, keep_payload: bool) -> None:
    """What the project may send, as typed (empty is no limit), and whether its texts are kept. Receivers look at
    it every few seconds; what is stored already stays as it is."""
    project.spans_per_s = _limit(spans_per_s, SPANS_PER_S_MOST, "Spans a second")
    mib = _limit(mib_per_day, MIB_PER_DAY_MOST, "MiB a day")
    project.bytes_per_day = None if mib is None else mib << 20
    project.keep_payload = keep_payload
    project.save(update_fields=["spans_per_s", "bytes_per_day", "keep_payload"])


def set_prices(project: Project, typed: str) -> None:
    """The project's own price list, as TOML; without a price in it, it has none."""
    try:
        write_table(project, parse_toml(typed))
    except PricesRefused as refused:
        raise ChangeRefused(f"{refused}.") from refused


def issue_key(project: Project, name: str) -> tuple[IngestKey, str]:
    """A new ingest key and its secret, which is told once."""
    return IngestKey.issue(project, _name(name))


def issue_token(project: Project, name: str) -> tuple[ReadToken, str]:
    """A new read token and its secret, which is told once."""
    return ReadToken.issue(project, _name(name))


def revoke(secrets: QuerySet[IngestKey] | QuerySet[ReadToken]) -> bool:
    """End these keys or tokens for good. False where there is none; one that is revoked already stays so."""
    secrets.filter(revoked_at=None).update(revoked_at=timezone.now())
    return secrets.exists()


def add_member(project: Project, username: str, role: str) -> Membership:
    wanted = _role(role)
    user = User.objects.filter(username=username.strip().replace("\x00", "")).first()
    if user is None:
        raise ChangeRefused(
            f"There is no user {username.strip()[:60]!r}. Make one on the server with manage.py make_admin, "
            "then choose the role here."
        )
    member, is_new = Membership.objects.get_or_create(project=project, user=user, defaults={"role": wanted})
    if not is_new:
        raise ChangeRefused(f"{user} is a member already, as {member.role}; change the role in the list.")
    return member


def change_role(project: Project, user_id: int, role: str) -> None:
    wanted = _role(role)
    with transaction.atomic():
        member = _member(project, user_id, leaves_admins=wanted == Role.ADMIN)
        member.role = wanted
        member.save(update_fields=["role"])


def remove_member(project: Project, user_id: int) -> None:
    with transaction.atomic():
        _member(project, user_id, leaves_admins=False).delete()


def _member(project: Project, user_id: int, *, leaves_admins: bool) -> Membership:
    """The membership to be changed, with all of the project's locked, so that two changes at once cannot
    each remove what they take for the last administrator but one."""
    members = {m.user_id: m for m in project.memberships.select_for_update().select_related("user")}
    member = members.get(user_id)
    if member is None:
        raise ChangeRefused("This user is not a member any more.")
    admins = [m for m in members.values() if m.role == Role.ADMIN]
    if admins == [member] and not leaves_admins:
        raise ChangeRefused(f"{member.user} is the last administrator; make another member one first.")
    return member


def _limit(typed: str, most: int, what: str) -> int | None:
    typed = typed.strip()
    if not typed:
        return None
    if not (typed.isascii() and typed.isdecimal() and len(typed) <= 12 and 1 <= int(typed) <= most):
        raise ChangeRefused(f"{what} is a whole number from 1 to {most}, or empty for no limit.")
    return int(typed)


def _role(role: str) -> Role:
    try:
        return Role(role)
    except ValueError:
        raise ChangeRefused(f"A role is one of {', '.join(Role)}.") from None


def _name(name: str) -> str:
    name = name.strip().replace("\x00", "")
    if not name:
        raise ChangeRefused("A name is needed.")
    if len(name) > NAME_MOST:
        raise ChangeRefused(f"A name has at most {NAME_MOST} characters.")
    return name


def _zone(zone: str) -> str:
    zone = zone.strip() or "UTC"
    if zone != "UTC" and zone not in zones():
        raise ChangeRefused(f"{zone[:60]!r} is no time zone; zones are called like Europe/Paris.")
    return zone


@lru_cache(maxsize=1)
def zones() -> frozenset[str]:
    return frozenset(available_timezones())
