"""The files that pages name instead of the many that they are written in: scripts by page, and the style sheets that
all pages have. They are made when first asked for and kept in memory; their names hold a hash of what is in them, so
that a browser keeps them for good. Who changes a script sees it after a restart."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.templatetags.static import static

from dashboard.modules import in_order, joined

EVERY_PAGE = "app"  # the module that all pages have; what it imports is not in their own again
STYLES = ("tokens", "app", "pages")

ADDRESS = re.compile(rf"{re.escape(static(''))}(?:css|js)/([\w-]+)\.[0-9a-f]{{12}}\.(css|js)")

Made = tuple[str, bytes]  # an address and what is there


def script(page: str) -> str:
    """The address of a page's module with all that it imports, but for what every page has."""
    return _script(page)[0]


def styles() -> str:
    return _styles()[0]


def made(address: str) -> bytes | None:
    """What is at an address that ``script`` or ``styles`` tells, or told a page before this process was there."""
    if not (asked := ADDRESS.fullmatch(address)):
        return None
    name, kind = asked.groups()
    if kind == "js" and not finders.find(f"js/{name}.js"):
        return None
    known, content = _styles() if kind == "css" else _script(name)
    return content if known == address else None


@cache
def import_map() -> dict[str, str]:
    """Where modules are: those that every page has in one file, others in files of their own."""
    inside = {f"sixstage/{name}.js": script(EVERY_PAGE) for name in in_order(EVERY_PAGE, _module)}
    return {"sixstage/": static("js/"), **inside}


@cache
def _script(page: str) -> Made:
    modules = in_order(page, _module)
    if page != EVERY_PAGE:
        modules = [name for name in modules if name not in in_order(EVERY_PAGE, _module)]
    return _addressed("js", page, joined(modules, _module))


@cache
def _styles() -> Made:
    return _addressed("css", "every-page", "\n".join(_text(f"css/{name}.css") for name in STYLES))


def _addressed(kind: str, name: str, text: str) -> Made:
    content = text.encode()
    return static(f"{kind}/{name}.{hashlib.sha256(content).hexdigest()[:12]}.{kind}"), content


def _module(name: str) -> str:
    return _text(f"js/{name}.js")


def _text(path: str) -> str:
    found = finders.find(path)
    if not found:
        raise FileNotFoundError(f"static/{path} is not there, but a page or a module names it")
    return Path(found).read_text()
