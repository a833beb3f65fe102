"""A page's modules come as one file, in which each still sees what it imports and nothing else."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from django.template import Context, Template

from dashboard import bundles
from dashboard.modules import exported, in_order, joined

SCRIPTS = Path(__file__).parents[3] / "static" / "js"
PAGES = ["app", "run", "runs", "live", "engine", "alert-rule"]
EVERYTHING = {path.stem: path.read_text() for path in SCRIPTS.glob("*.js")}
TEXTS = {
    "page": 'import { a as first } from "sixstage/a.js";\nimport "sixstage/b-side.js";\nfirst();\n',
    "a": 'import { c } from "sixstage/c.js";\nexport async function a() { c(); }\nconst own = 1;\nexport { own };\n',
    "b-side": 'import { c } from "sixstage/c.js";\nconst own = c;\n',
    "c": "// no import from \"sixstage/comment.js\"\nexport const c = () => import('sixstage/later.js');\n",
}


def test_what_is_imported_stands_before_who_imports_it() -> None:
    assert in_order("page", TEXTS.__getitem__) == ["c", "a", "b-side", "page"]
    with pytest.raises(ValueError, match="a → c → a"):
        in_order("a", (TEXTS | {"c": 'import "sixstage/a.js";\n'}).__getitem__)


def test_modules_joined_keep_their_own_names_and_import_what_is_elsewhere() -> None:
    text = joined(["a", "b-side", "page"], TEXTS.__getitem__)
    assert text.startswith('import * as module_c from "sixstage/c.js";\nconst module_a = (() => {')
    assert text.count("const { c } = module_c;") == 2
    assert "return { a, own };\n})();\nexport const { a, own } = module_a;" in text
    assert "const { a: first } = module_a;\n\nfirst();" in text


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_one_file_that_holds_every_module_once(page: str) -> None:
    shown = Template(f'{{% module "{page}" %}}').render(Context())
    address = re.findall(rf'src="(/static/js/{page}\.[0-9a-f]{{12}}\.js)"', shown)[0]
    text = (bundles.made(address) or b"").decode()
    assert f"// {page}.js\n" in text
    parts = re.findall(r"^const module_\w+ = \(\(\) => \{ // ([\w-]+)\.js$", text, re.MULTILINE)
    assert len(parts) == len({*parts})
    elsewhere = set(re.findall(r'^import \* as \w+ from "sixstage/([\w-]+)\.js"', text, re.MULTILINE))
    assert elsewhere <= {*in_order("app", EVERYTHING.__getitem__)}
    assert not re.search(r"^(?:import [^*]|export (?!const \{))", text, re.MULTILINE), "one that is not understood"


def test_modules_can_be_joined() -> None:
    names = [name for text in EVERYTHING.values() for name in exported(text)]
    assert len(names) == len({*names}), "what two modules export has different names"
    for name, text in EVERYTHING.items():
        assert not re.search(r"^export (?:let|default|\*)|^\S.*\bawait\b.*;$|import\.meta", text, re.MULTILINE), name


def test_a_module_fetched_later_brings_nothing_twice() -> None:
    """What a page's file holds is not known by name outside of it, but for what every page has."""
    every_page = {*in_order("app", EVERYTHING.__getitem__)}
    for page in PAGES:
        here = {*in_order(page, EVERYTHING.__getitem__)}
        laters = (re.findall(r'import\("sixstage/([\w-]+)\.js"\)', EVERYTHING[name]) for name in here)
        for later in chain.from_iterable(laters):
            assert {*in_order(later, EVERYTHING.__getitem__)} & here <= every_page, (page, later)


def test_an_address_that_a_process_before_has_told_is_answered_and_others_are_not() -> None:
    address = bundles.styles()
    bundles._styles.cache_clear()
    assert bundles.made(address)
    assert bundles.made(address.replace("every-page", "nothing")) is None
    assert bundles.made("/static/js/../../manage.000000000000.js") is None
    assert bundles.made("/static/js/nothing.000000000000.js") is None
