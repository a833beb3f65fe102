"""Price lists as they are stored: a project's own, which its administrators write, and the file's for all projects."""

from __future__ import annotations

from pathlib import Path

from django.db.models import Q

from ingest.costs import PriceTable, Pricing
from ingest.models import PriceList, Project
from ingest.price_list import PricesRefused, parse, parse_toml, written
from ingest.rollups.folding import zone_of
from ingest.scope import Scope


def read_tables(scope: Scope) -> tuple[PriceTable | None, PriceTable | None]:
    """A project's own prices, and those for all projects; these not where they are in another currency than its own."""
    lists = PriceList.objects.filter(Q(project_id=scope.project_id) | Q(project=None))
    found = {one.project_id: parse(one.currency, one.prices) for one in lists}
    own, common = found.get(scope.project_id), found.get(None)
    return own, common if own is None or common is None or common.currency == own.currency else None


def read_pricing(scope: Scope) -> Pricing:
    """What calls of a project cost: by its own prices, then by those for all."""
    tables = [table for table in read_tables(scope) if table is not None]
    zone = Project.objects.values_list("zone", flat=True).get(pk=scope.project_id) if tables else "UTC"
    return Pricing(tables, zone_of(zone))


def write_table(project: Project | None, table: PriceTable | None) -> None:
    """Instead of the former one of the project, or of all projects; None leaves it none."""
    if table is None:
        PriceList.objects.filter(project=project).delete()
        return
    PriceList.objects.update_or_create(
        project=project, defaults={"currency": table.currency, "prices": written(table)}
    )  # fmt: skip


def load_file(path: Path | None) -> None:
    """Make the prices for all projects those of a file, and none without a file. Raises PricesRefused."""
    if path is None:
        write_table(None, None)
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PricesRefused(f"{path} cannot be read: {error}") from error
    try:
        write_table(None, parse_toml(text))
    except PricesRefused as refused:
        raise PricesRefused(f"{path}: {refused}") from refused
