"""A migration operation that Django lacks."""

from __future__ import annotations

from typing import Any

from django.db import migrations


class CreatePartitionedModel(migrations.CreateModel):
    """CreateModel, as a PostgreSQL table partitioned by ranges of its ``day`` column.

    Indexes and constraints of the model are made on the parent and so appear on each partition.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        plain = schema_editor.sql_create_table
        schema_editor.sql_create_table = f"{plain} PARTITION BY RANGE (day)"
        try:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        finally:
            schema_editor.sql_create_table = plain
