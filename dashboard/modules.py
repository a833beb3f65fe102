"""Which modules a page's script needs. A browser learns of an import only when it has read who imports it: with a depth
of four, a page of thirty small files waits four times. Told all at once, it fetches them together."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from django.contrib.staticfiles import finders

# Static imports only: what is fetched when it is needed need not be there before.
IMPORT = re.compile(r'^\s*(?:import|export)\b[^"\'()]*["\']sixstage/([\w-]+\.js)["\']', re.MULTILINE)


def imported(entry: str, read: Callable[[str], str]) -> list[str]:
    """All that a module imports, directly or not, nearest first; ``read`` gives a module's text by its name."""
    found = {entry: None}
    for name in (waiting := [entry]):
        for needed in IMPORT.findall(read(name)):
            if needed not in found:
                found[needed] = None
                waiting.append(needed)
    del found[entry]
    return list(found)


@lru_cache(maxsize=64)
def needed_by(entry: str) -> tuple[str, ...]:
    """Of a script in `static/js`, by its file's name."""
    return tuple(imported(entry, _text))


def _text(name: str) -> str:
    path = finders.find(f"js/{name}")
    return Path(path).read_text() if path else ""
