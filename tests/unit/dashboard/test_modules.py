"""Pages name the modules that their scripts import, so that a browser fetches them at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template import Context, Template

from dashboard.modules import imported

SCRIPTS = Path(__file__).parents[3] / "static" / "js"
PAGES = ["app.js", "run.js", "runs.js", "live.js", "engine.js", "alert-rule.js"]


def test_imports_of_imports_are_found_once_and_cycles_end() -> None:
    texts = {
        "page.js": 'import { a } from "sixstage/a.js";\nimport "sixstage/b.js";\n',
        "a.js": 'import {\n  c,\n  d,\n} from "sixstage/c.js";\nexport { e } from "sixstage/b.js";\n',
        "b.js": 'import { page } from "sixstage/page.js";\n',
        "c.js": "// no import from \"sixstage/comment.js\"\nconst later = () => import('sixstage/later.js');\n",
    }
    assert imported("page.js", texts.__getitem__) == ["a.js", "b.js", "c.js"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_tells_of_every_module_that_any_of_its_scripts_names(name: str) -> None:
    shown = Template(f'{{% module "{name}" %}}').render(Context())
    told = set(re.findall(r'rel="modulepreload" href="/static/js/([\w-]+\.js)"', shown))
    assert f'src="/static/js/{name}"' in shown
    named: set[str] = set()
    for script in {name, *told}:
        lines = (SCRIPTS / script).read_text().splitlines()
        named |= {found for line in lines if " from " in line for found in re.findall(r'"sixstage/([\w-]+\.js)"', line)}
    assert named - {name} <= told
    assert all((SCRIPTS / script).exists() for script in told)
