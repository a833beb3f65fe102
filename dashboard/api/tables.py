"""Answers of the API as CSV: the same values in the same digits, one line a run, or a step and group of a summary."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpResponse

from dashboard.api.shapes import RunSummary, Summary

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet would begin to compute


def runs_table(runs: Iterable[Any]) -> HttpResponse:
    lines = [dict(_flat(RunSummary.from_orm(run).model_dump())) for run in runs]
    return _answer(list(lines[0]) if lines else list(RunSummary.model_fields), lines, "runs")


def summary_table(summary: Any) -> HttpResponse:
    """First the whole range, then its steps; of each the total, where there is one, then its groups."""
    told = Summary.from_orm(summary).model_dump()
    lines = [line for part in (told, *told["steps"]) for line in _lines(part)]
    columns = list(dict.fromkeys(name for line in lines for name in line))
    return _answer(columns, lines, "summary")


def _lines(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    head = {"from_unix_ns": part["from_unix_ns"], "to_unix_ns": part["to_unix_ns"]}
    if part["total"] is not None:
        yield {**head, "of": "total", "group": None, **dict(_flat(part["total"]))}
    for group in part["groups"]:
        of = "other" if group["is_other"] else "group"
        yield {**head, "of": of, "group": group["value"], **dict(_flat(group["figures"]))}


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Names of what is inside of others with dots between; lists of texts with commas, bands by their bounds."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for band in value:
                yield from _flat(
                    {key: band[key] for key in ("runs", "completed")}, f"{before}{name}.from_{band['from_ns']}_ns."
                )
        else:
            yield f"{before}{name}", ",".join(map(str, value)) if isinstance(value, list) else value


def _answer(columns: list[str], lines: Iterable[Mapping[str, Any]], name: str) -> HttpResponse:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for line in lines:
        writer.writerow([safe_cell(line.get(column)) for column in columns])
    return HttpResponse(
        text.getvalue(), content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )  # fmt: skip


def safe_cell(value: Any) -> Any:
    """Unknown is empty. A text that a spreadsheet would compute is told for a text by an apostrophe before it."""
    if isinstance(value, str) and value.startswith(FORMULA) and not value.lstrip("-").isdecimal():
        return f"'{value}"
    return value
