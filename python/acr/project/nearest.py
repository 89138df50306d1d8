"""Sorts test files by their distance from changed files: by imports, then by folder and name."""

from __future__ import annotations

import re

from acr.project.detect import is_test_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FAR = 4  # maximum number of import steps that count
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]*))", re.MULTILINE
)


def module_of(path: str) -> str:
    """The dotted name under which a file would be imported from the root."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(path: str, text: str) -> Iterator[str]:
    """Dotted names that a file imports: modules, and names that may be modules."""
    package = module_of(path).split(".")
    package = package if path.endswith("__init__.py") else package[:-1]
    for match in _IMPORT.finditer(text):
        base, names, plain = match.groups()
        if plain:
            yield from (name.split(" as ")[0].strip() for name in plain.split(","))
            continue
        dots = len(base) - len(base.lstrip("."))
        parts = package[: len(package) - dots + 1] if dots else []
        module = ".".join([*parts, *filter(None, [base.lstrip(".")])])
        yield module
        for name in re.findall(r"\w+", re.sub(r"\bas\s+\w+|#.*", "", names)):
            yield f"{module}.{name}"


def _graph(texts: dict[str, str]) -> dict[str, set[str]]:
    """File -> the files that import it."""
    names: dict[str, str] = {}
    for path in texts:
        module = module_of(path)
        names[module] = path
        for root in ("src.", "lib."):
            if module.startswith(root):
                names[module.removeprefix(root)] = path
    users: dict[str, set[str]] = {}
    for path, text in texts.items():
        for name in imported(path, text):
            target = names.get(name)
            if target and target != path:
                users.setdefault(target, set()).add(path)
    return users


def order(changed: list[str], texts: dict[str, str]) -> list[str]:
    """All test files, the nearest first. `texts`: the texts of all Python files, or at least their imports."""
    users = _graph(texts)
    steps = dict.fromkeys(changed, 0)
    last = list(changed)
    for step in range(1, _FAR + 1):
        last = [user for path in last for user in sorted(users.get(path, ())) if user not in steps]
        steps.update(dict.fromkeys(last, step))

    def place(path: str) -> tuple[int, int, str]:
        return steps.get(path, _FAR + 1) - 2 * _named_for(path, changed), -_common(path, changed), path

    return sorted(filter(is_test_file, texts), key=place)


def _named_for(path: str, changed: list[str]) -> bool:
    bare = re.sub(r"^test_?|_?tests?$", "", path.rpartition("/")[2].removesuffix(".py"))
    return any(bare == other.rpartition("/")[2].removesuffix(".py").strip("_") for other in changed)


def _common(path: str, changed: list[str]) -> int:
    """The number of folder names that a path shares with a changed file."""
    parts = set(path.split("/")[:-1]) - {"tests", "test", "src"}
    return max((len(parts & set(other.split("/")[:-1])) for other in changed), default=0)
