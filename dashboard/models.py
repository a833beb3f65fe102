"""People and programs that read: who belongs to which project, and tokens for the API."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from ingest.models.project import Project, new_secret


class Role(models.TextChoices):
    """What a member may do. Each role may do all that the one before it may."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    def allows(self, wanted: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(wanted)


class Membership(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_project")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project} as {self.role}"


class ReadToken(models.Model):
    """A token that reads one project through the API and sends nothing. Only its digest is kept."""

    PREFIX = "sxr_"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="read_tokens")
    name = models.CharField(max_length=200)
    hint = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    @classmethod
    def issue(cls, project: Project, name: str) -> tuple[ReadToken, str]:
        """The token's row and its secret, which is told once and never stored."""
        secret, hint, digest = new_secret(cls.PREFIX)
        return cls.objects.create(project=project, name=name, hint=hint, digest=digest), secret

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"


class SavedView(models.Model):
    """A list of runs that somebody wants to see again: its query, columns and order, as its address has them. Without
    ``shared`` only its owner sees it; an open instance has one reader, who is nobody's user."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="saved_views")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="saved_views")
    name = models.CharField(max_length=80)
    address = models.TextField(max_length=4000)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
