"""A search call for fixtures of pytest, which the index omits together with the tests."""

from __future__ import annotations

import ast

from acr.extensions import Place, Repo, search_call

API = 1


@search_call
def search_fixture(repo: Repo, fixture_name: str) -> list[Place]:
    """Shows the pytest fixtures of that name, in conftest.py and in test files.

    fixture_name: Name of the fixture, as tests take it as an argument
    """
    found = []
    for path in repo.files():
        text = repo.text(path) if path.endswith(".py") else ""
        if "fixture" in text:
            found += [Place(path, *lines) for name, *lines in fixtures(text) if name == fixture_name]
    return found


def fixtures(text: str) -> list[tuple[str, int, int]]:
    """(name, first line, last line) of each fixture in a file's text; empty if it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    rows = []
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", []):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called) in ("pytest.fixture", "fixture", "pytest_asyncio.fixture"):
                rows.append((given_name(decorator) or node.name, decorator.lineno, node.end_lineno))
    return rows


def given_name(decorator: ast.expr) -> str | None:
    """The NAME in @pytest.fixture(name="NAME")."""
    for keyword in getattr(decorator, "keywords", []):
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


def test_reads_names(repo: Repo) -> None:
    """A fixture is named by its function or by `name`."""
    text = "@pytest.fixture\ndef a():\n    return 1\n\n@pytest.fixture(name='b')\ndef _b(a):\n    return a\n"
    assert fixtures(text) == [("a", 1, 3), ("b", 5, 7)]


def test_looks_at_the_repository(repo: Repo) -> None:
    """No fixture has this name."""
    assert search_fixture(repo, "no fixture") == []
