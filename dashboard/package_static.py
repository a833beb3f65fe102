"""Finds the front-end libraries inside their Python packages, so that none is copied into the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

# library → (package, file within it)
LIBRARIES = {
    "plotly": ("plotly", "package_data/plotly.min.js"),
    "htmx": ("django_htmx", "static/django_htmx/htmx-2.min.js"),
}


@cache
def library_name(library: str) -> str:
    """The library's name under static/. It holds a hash of the content, so browsers may keep it for ever."""
    content = hashlib.sha256(_path_of(library).read_bytes()).hexdigest()[:12]
    return f"vendor/{library}.{content}.js"


def library_path(name: str) -> Path | None:
    """Where the file behind ``static/<name>`` lies in its installed package; None if it is no library."""
    return next((_path_of(library) for library in LIBRARIES if library_name(library) == name), None)


def _path_of(library: str) -> Path:
    package, inside = LIBRARIES[library]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{library} comes from the Python package {package}, which is not installed")
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
        found = library_path(path)
        if found is None:
            return []  # as Django's own say it: what is found nowhere is then nothing, and not [None]
        return [str(found)] if find_all else str(found)

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        for library in LIBRARIES:
            yield library_name(library), self.storage
