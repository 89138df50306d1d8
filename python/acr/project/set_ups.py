"""Finds shell commands that make a project importable, from its files, the best guess first.

All commands use pip and the Python of the sandbox, because an environment that uv, poetry or pixi create elsewhere does
not run the tests. The packages that those tools would install are read from their files.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys

from acr.project import configs, guides
from acr.project import detect as tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DEVCONTAINER = re.compile(r"\.devcontainer(/([^/]+/)?devcontainer)?\.json")
_WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml|\.travis\.yml|\.gitlab-ci\.yml|\.circleci/config\.yml")
_REQUIREMENTS = re.compile(r"(requirements/)?[\w-]*(dev|test|requirements)[\w-]*\.txt|requirements/[\w-]+\.txt")
_ENVIRONMENT = re.compile(r"([\w-]+/)?environment[\w-]*\.ya?ml")
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_GROUP = re.compile(r"tests?|testing|dev(elop|elopment)?|hatch-test|default|unit", re.IGNORECASE)
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w,. -]*\])?\s*([<>=!~][^;#&|`$\\]*)?(;[^#&|`$\\]*)?")
_TOOLS = set(  # tools that do not belong to a project, and names that pip cannot install
    "python pip conda mamba setuptools wheel nodejs git make uv tox nox pre-commit ruff mypy black isort poetry hatch pdm pixi build "
    "twine codecov pipenv virtualenv flit".split()
)
_OWN_ENVIRONMENT = re.compile(
    r"(uv|pdm|poetry|pixi|pipenv|rye)\s+(sync|install)\b|(conda|mamba)\s+env\s+(create|update)\b|hatch\s+env\s+create\b"
)
_BUILD = re.compile(
    r"make\s+[\w-]*(install|setup|set-up|develop|dev|build|bootstrap|init|deps)[\w-]*|((bash|sh|python[\d.]*)\s+)?"
    r"[\w./-]*(setup|set[_-]up|bootstrap|install|build|create|init|prepare|post|develop)[\w./-]*\.(sh|py)(\s[\w\s./-]*)?"
)
_MAX_PACKAGES = 80
_MAX_PLANS = 6
PIP = "python3 -m pip install"
OFFLINE = "export PIP_NO_INDEX=1 PIP_NO_BUILD_ISOLATION=false; "  # without network, pip uses only what is installed


def files_of_set_ups(paths: list[str]) -> list[str]:
    """The files whose texts `find_set_ups` reads."""
    kinds = (_DEVCONTAINER, _WORKFLOW, _REQUIREMENTS, _ENVIRONMENT)
    names = {*_PROJECT, "tox.ini", "pixi.toml"}
    found = [path for path in paths if path in names or any(kind.fullmatch(path) for kind in kinds)]
    return [*found, *guides.guide_files(paths), *filter(tests.is_test_file, tests.wanted(paths))]


def modules_of_tests(paths: list[str], texts: dict[str, str]) -> list[str]:
    """Modules outside the project that test files import at their top level, without `try`."""
    own = {part.removesuffix(".py") for path in paths if path.endswith(".py") for part in path.split("/")}
    known = own | {"__main__"} | set(getattr(sys, "stdlib_module_names", sys.builtin_module_names))
    found: dict[str, None] = {}
    for path in filter(tests.is_test_file, texts):
        try:
            body = ast.parse(texts[path]).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found.update(dict.fromkeys(name.split(".")[0] for name in names))
    return [name for name in found if name and name not in known][:_MAX_PACKAGES]


def find_set_ups(paths: list[str], texts: dict[str, str], *, has_network: bool) -> list[dict]:
    """[{"command", "why"}], each a complete set-up."""
    found: dict[str, str] = {}
    for command, why in _plans(frozenset(paths), texts):
        found.setdefault(command if has_network else OFFLINE + command, why)
    return [{"command": command, "why": why} for command, why in list(found.items())[:_MAX_PLANS]]


def _plans(paths: frozenset[str], texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    project = _project(paths, texts)
    agents = [path for path in guides.guide_files(list(texts)) if guides.is_for_agents(path)]
    people = [path for path in guides.guide_files(list(texts)) if "README" not in path.upper() and path not in agents]
    for path in agents:
        yield from _sequence([command for command, _, _ in guides.commands(path, texts[path])], project, paths, path)
    if project:
        yield project, "the project, and the packages that its files list for tests"
    for path in sorted(filter(_DEVCONTAINER.fullmatch, texts)):
        whole = configs.read_json(texts[path])
        lines = [command for key in configs.LIFECYCLE for command in configs.lifecycle(whole.get(key))]
        yield from _sequence(lines, project, paths, path)
    for path in (*people, *sorted(filter(_WORKFLOW.fullmatch, texts))):
        is_guide = path in people
        lines = (
            [command for command, _, _ in guides.commands(path, texts[path])] if is_guide else _run_lines(texts[path])
        )
        yield from _sequence(lines, project, paths, path)
    lists = sorted(filter(_REQUIREMENTS.fullmatch, texts), key=lambda path: (not _GROUP.search(path), path))[:2]
    if lists:
        yield (
            " && ".join([f"{PIP} {' '.join(f'-r {shlex.quote(path)}' for path in lists)}", *_itself(paths)]),
            f"{lists[0]} lists it",
        )
    if _itself(paths):
        yield f"{PIP} -e .", "the project alone"
        yield f"{PIP} --no-deps -e .", "the project without its dependencies"
    if "setup.py" in paths:
        yield "python3 setup.py build_ext --inplace", "setup.py builds extensions"


def _itself(paths: frozenset[str]) -> list[str]:
    return [f"{PIP} -e ."] if not paths.isdisjoint(("pyproject.toml", "setup.py")) else []


def _run_lines(text: str) -> list[str]:
    """The lines of a CI file that may be commands."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [re.sub(r"^\s*(?:-\s+)?(?:run:\s*)?", "", line).strip("\"' ") for line in lines if "install" in line]


# ---- Commands in texts ----


def _sequence(lines: list[str], project: str, paths: frozenset[str], where: str) -> Iterator[tuple[str, str]]:
    """The set-up commands in a file, joined; nothing if none of them uses the project."""
    kept: dict[str, None] = {}
    for line in lines:
        if len(line) > configs.MAX_COMMAND:
            continue
        for part in re.split(r"\s*(?:&&|;)\s*", line.partition(" #")[0].strip()):
            command = _normal(part, project, paths)
            if command:
                kept[command] = None
    if any(re.search(r"(^| )(-e|-r|\.|\./\S*)( |\[|$)|'\.\[|make |\.sh|\.py", command) for command in kept):
        yield " && ".join(list(kept)[:8]), f"{where} names this command"


def _normal(part: str, project: str, paths: frozenset[str]) -> str | None:
    """A set-up command, adapted to the Python of the sandbox; None if it is not a set-up command."""
    if _OWN_ENVIRONMENT.search(part):
        return project or None
    install = re.fullmatch(r"(?:[\w./-]*python[\d.]*\s+-m\s+|uv\s+|[\w./-]*/)?pip[\d.]*\s+install\s+(.*)", part)
    if not install:
        words = part.split()
        script = [word for word in words if "/" in word or word.endswith((".sh", ".py"))]
        is_here = not script or script[0].removeprefix("./") in paths
        return part if _BUILD.fullmatch(part) and is_here else None
    try:
        words = [
            word for word in shlex.split(install[1]) if word not in ("--user", "--system", "-U", "--upgrade", "-q")
        ]
    except ValueError:
        return None
    names = [word for word in words if not word.startswith("-")]
    is_odd = any(re.search(r"[`$<{|&*]|^https?:|^git\+", word) and not _REQUIREMENT.fullmatch(word) for word in words)
    files = [word for flag, word in zip(words, words[1:]) if flag in ("-r", "--requirement")]
    folders = [word.split("[")[0] for flag, word in zip(words, words[1:]) if flag in ("-e", "--editable")]
    files += [f"{name.rstrip('/')}/setup.py" for name in folders if name not in (".", "./")]
    if is_odd or all(map(_is_tool, names)) or any(file.removeprefix("./") not in paths for file in files):
        return None
    return " ".join([PIP, *map(shlex.quote, words)])


def _is_tool(name: str) -> bool:
    return re.split(r"[\[<>=!~; ]", name)[0].lower() in _TOOLS


# ---- The packages that tools would install ----


def _project(paths: frozenset[str], texts: dict[str, str]) -> str:
    """The project with the extras and packages that its files list for tests; "" if it has no packaging."""
    whole = configs.read_toml(texts.get("pyproject.toml", ""))
    extras = [name for name in configs.table(whole, "project", "optional-dependencies") if _GROUP.fullmatch(name)]
    section = "options.extras_require"
    setup = configs.read_ini(texts.get("setup.cfg", ""))
    extras += [
        name for name in (setup.options(section) if setup.has_section(section) else ()) if _GROUP.fullmatch(name)
    ]
    packages = [name for name in _packages(whole, texts) if _REQUIREMENT.fullmatch(name) and not _is_tool(name)]
    words = [shlex.quote(name) for name in dict.fromkeys(packages)][:_MAX_PACKAGES]
    if _itself(paths):
        words = ["-e", shlex.quote(f".[{','.join(dict.fromkeys(extras))}]") if extras else ".", *words]
    return " ".join([PIP, *words]) if words else ""


def _packages(whole: dict, texts: dict[str, str]) -> Iterator[str]:
    groups = configs.table(whole, "dependency-groups")
    for name in groups:
        if _GROUP.fullmatch(name):
            yield from _of_group(groups, name, 0)
    for key in ("uv", "pdm"):
        value = configs.table(whole, "tool", key).get("dev-dependencies")
        for member in value.values() if isinstance(value, dict) else [value]:
            yield from _texts(member)
    poetry = configs.table(whole, "tool", "poetry")
    names = [*configs.table(poetry, "dev-dependencies")]
    for group in configs.table(poetry, "group").values():
        names += configs.table(group, "dependencies")
    pixi = configs.read_toml(texts.get("pixi.toml", "")) or configs.table(whole, "tool", "pixi")
    for part in (pixi, *(part for name, part in configs.table(pixi, "feature").items() if _GROUP.fullmatch(name))):
        names += [*configs.table(part, "dependencies"), *configs.table(part, "pypi-dependencies")]
    for name, environment in configs.table(whole, "tool", "hatch", "envs").items():
        if _GROUP.fullmatch(name) and isinstance(environment, dict):
            yield from _texts(environment.get("dependencies"))
            yield from _texts(environment.get("extra-dependencies"))
    for path in filter(_ENVIRONMENT.fullmatch, texts):
        names += _of_conda(texts[path])
    own = str(configs.table(whole, "project").get("name") or configs.table(pixi, "project").get("name") or "")
    yield from (name for name in names if name != own)
    deps = configs.read_ini(texts.get("tox.ini", "")).get("testenv", "deps", fallback="") or ""
    yield from (line.strip() for line in deps.splitlines() if not re.match(r"\s*[\w{},!.-]+:\s", line))


def _of_conda(text: str) -> Iterator[str]:
    """The names below "dependencies:" and its pip list, without conda's versions, which differ from pip's."""
    is_inside = False
    for line in text.splitlines():
        if re.match(r"[A-Za-z]", line):
            is_inside = line.startswith("dependencies:")
        name = re.match(r"\s*-\s+[\"']?(?:[\w-]+::)?([A-Za-z][\w.-]*)(?!\s*:)(?![\w.:-])", line) if is_inside else None
        if name:
            yield name[1]


def _of_group(groups: dict, name: str, depth: int) -> Iterator[str]:
    members = groups.get(name)
    for member in members if isinstance(members, list) and depth < 5 else ():
        if isinstance(member, dict):
            yield from _of_group(groups, str(member.get("include-group")), depth + 1)
        else:
            yield from _texts([member])


def _texts(value: object) -> list[str]:
    return [member for member in value if isinstance(member, str)] if isinstance(value, list) else []
