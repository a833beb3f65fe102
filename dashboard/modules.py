"""A page's modules as one file, so that a first visit fetches two scripts and not thirty: each request costs browser
and server more than what is in most of these files. They stay modules: each keeps its own names and sees what it
imports. Three rules make that easy, and a test holds them: modules import each other by name and not in circles, what
two modules export has different names, and nothing exported is assigned again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

# Static imports only: what is fetched when it is needed stays a file of its own.
IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"sixstage/([\w-]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
LISTED = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)

Read = Callable[[str], str]


def in_order(entry: str, read: Read) -> list[str]:
    """A module and all that it imports, directly or not, each after what it imports; ``read`` gives a module's text."""
    found: dict[str, None] = {}

    def visit(name: str, above: Sequence[str]) -> None:
        if name in above:
            raise ValueError(f"modules import each other in a circle: {' → '.join([*above, name])}")
        if name not in found:
            for _, needed in IMPORT.findall(read(name)):
                visit(needed, [*above, name])
            found[name] = None

    visit(entry, [])
    return list(found)


def exported(text: str) -> list[str]:
    return [*EXPORT.findall(text), *(name for names in LISTED.findall(text) for name in _names(names))]


def joined(modules: Iterable[str], read: Read) -> str:
    """Modules as one that exports what any of them does, given in the order of ``in_order``. What they import from
    others it imports."""
    here, others, bodies = list(modules), set[str](), []
    for name in here:
        text = read(name)
        others |= {needed for _, needed in IMPORT.findall(text)} - {*here}
        gives = ", ".join(exported(text))
        body = LISTED.sub("", EXPORT.sub("", IMPORT.sub(_taken, text)))
        bodies.append(f"const {_object(name)} = (() => {{ // {name}.js\n{body}return {{ {gives} }};\n}})();\n")
        if gives:
            bodies.append(f"export const {{ {gives} }} = {_object(name)};\n")
    return "".join([f'import * as {_object(other)} from "sixstage/{other}.js";\n' for other in sorted(others)] + bodies)


def _taken(found: re.Match[str]) -> str:
    names, module = found.groups()
    return f"const {{{names.replace(' as ', ': ')}}} = {_object(module)};\n" if names else "\n"


def _object(module: str) -> str:
    return f"module_{module.replace('-', '_')}"


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]
