"""agents/ knows nothing of the product: it reaches it by OTLP, as any agent does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

AGENTS = Path(__file__).parents[3] / "agents"
FORBIDDEN = {"ingest", "dashboard", "django", "celery", "channels", "psycopg", "redis", "sqlite3", "tests"}
FILES = sorted(AGENTS.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(AGENTS)))
def test_it_imports_nothing_of_the_product_and_no_database(file: Path) -> None:
    assert not set(imported(ast.parse(file.read_text()))) & FORBIDDEN


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 10
    assert list(imported(ast.parse("import a.b\nfrom c.d import e\nfrom . import f"))) == ["a", "c"]


def imported(tree: ast.AST) -> Iterator[str]:
    """Top-level names of all imported packages, wherever in the file they are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]
