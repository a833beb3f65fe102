"""What a reader may see. Every read takes a Scope first, and only the dashboard's access control makes one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One project. Every query of the read layer narrows to it before anything else."""

    project_id: int

    def where(self, alias: str = "") -> tuple[str, list[object]]:
        """The SQL condition that keeps a query inside the project, and its parameter."""
        column = f"{alias}.project_id" if alias else "project_id"
        return f"{column} = %s", [self.project_id]
