"""Finds the front-end libraries inside their Python packages, so that none is copied into the repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

# name under static/ → (package, file within it)
LIBRARIES = {
    "vendor/plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "vendor/htmx.min.js": ("django_htmx", "static/django_htmx/htmx-2.min.js"),
}


def library_path(name: str) -> Path:
    """Where the file behind ``static/<name>`` lies in its installed package."""
    package, inside = LIBRARIES[name]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"static/{name} comes from the Python package {package}, which is not installed"
        )
    return Path(spec.origin).parent / inside


class _LibraryStorage(FileSystemStorage):
    """A read-only storage of the files in LIBRARIES."""

    prefix = ""

    def path(self, name: str) -> str:
        return str(library_path(name))


class PackageFinder(BaseFinder):
    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        self.storage = _LibraryStorage(location="/")

    def check(self, **_kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **_kwargs: Any) -> Any:
        if path not in LIBRARIES:
            return [] if find_all else None
        found = str(library_path(path))
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        for name in LIBRARIES:
            yield name, self.storage
