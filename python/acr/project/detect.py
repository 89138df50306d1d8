"""Finds the commands that run a project's tests from its files: plans (see `commands`), the best guess first."""

from __future__ import annotations

import re

from acr.project import commands, configs, guides, import_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROOT = {
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "pytest.ini",
    ".pytest.ini",
    "noxfile.py",
    *("Makefile", "GNUmakefile", "makefile", "justfile", "Justfile", ".justfile"),
    "setup.py",
    ".travis.yml",
    ".gitlab-ci.yml",
    "azure-pipelines.yml",
    ".circleci/config.yml",
    ".cirrus.yml",
    "pixi.toml",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile",
}
_DEVCONTAINER = re.compile(r"\.devcontainer(/([^/]+/)?devcontainer)?\.json|\.vscode/settings\.json")
_REQUIREMENTS = re.compile(
    r"([\w-]+/)?([\w-]*requirements[\w-]*\.(txt|in)|[\w-]*environment[\w-]*\.ya?ml)|requirements/[\w-]+\.(txt|in)|"
    r"pyproject\.toml|setup\.cfg|pixi\.toml|uv\.lock|poetry\.lock|pdm\.lock|Pipfile"
)
_LISTS_PYTEST = re.compile(r"(?:^|[\"'\s])pytest(?=$|[\s\"'<>=~!,;\[])", re.MULTILINE)
_CI = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml|\.travis\.yml|\.gitlab-ci\.yml|azure-pipelines\.yml|\.circleci/.*|\.cirrus\.yml"
)
_TEST_FILE = re.compile(r"(.*/)?(test[^/]*|[^/]*_tests?)\.py")
_NO_TESTS = set(  # programs whose arguments may mention tests, and Python keywords
    "pip pip3 uv conda mamba apt apt-get brew git gh cd ls cat echo docker pre-commit ruff flake8 mypy black pyright pylint "
    "python python3 def with class import from assert for if async return".split()
)
_MAKEFILES = ("Makefile", "GNUmakefile", "makefile", "justfile", "Justfile", ".justfile")
_MAX_SAMPLES = 40


def is_test_file(path: str) -> bool:
    """Whether a path looks like a file of tests."""
    return _TEST_FILE.fullmatch(path) is not None


def wanted(paths: Iterable[str]) -> list[str]:
    """The files whose texts `detect` reads."""
    tests = sorted(filter(is_test_file, paths))
    step = max(1, len(tests) // _MAX_SAMPLES)
    conftests = [path for path in paths if path.rpartition("/")[2] == "conftest.py"]
    found = [path for path in paths if path in _ROOT or _CI.fullmatch(path) or _DEVCONTAINER.fullmatch(path)]
    found += [path for path in paths if _REQUIREMENTS.fullmatch(path)][:_MAX_SAMPLES] + guides.guide_files(paths)
    return list(dict.fromkeys([*found, *tests[::step], *conftests[:3], *import_folders.wanted(paths)]))


def detect(paths: list[str], texts: dict[str, str]) -> list[dict]:
    """Plans with their "why", the best guess first."""
    known = frozenset(paths)
    found: list[dict] = []
    told = _told(known, texts)
    whole, narrow = ([plan for plan in told if (plan["narrow"] > 1) == is_narrow] for is_narrow in (False, True))
    guessed = list(_guessed(paths, texts))
    likely = [plan for plan in guessed if plan["runner"] != "command"]
    for plan in (*_own(known), *whole, *likely, *narrow, *guessed, *_unknown(known, texts)):
        if _key(plan) not in map(_key, found):
            found.append(plan)
    return [with_paths(plan, paths, texts) for plan in found]


def _key(plan: dict) -> tuple[object, ...]:
    """A key; equal plans have equal keys."""
    return plan["runner"], plan["args"], plan["cwd"], plan["command"] if plan["runner"] == "command" else ""


def with_paths(plan: dict, paths: list[str], texts: dict[str, str]) -> dict:
    """Complete the plan so that it finds the project's packages although the project is not installed."""
    is_moved = plan["cwd"] not in ("", ".") and not plan["path"]
    path = [*plan["path"], *import_folders.find(paths, texts), *(["."] if is_moved else [])]
    return {**plan, "path": list(dict.fromkeys(path)), "command": commands.printed(plan)}


def _own(paths: frozenset[str]) -> Iterator[dict]:
    """The runners of single projects, and of Django sites."""
    if {"bin/test", "sympy/__init__.py"} <= paths:
        yield {**commands.sympy(), "why": "bin/test is sympy's own runner"}
    if {"tests/runtests.py", "django/__init__.py"} <= paths:
        yield {**commands.django(), "why": "tests/runtests.py is Django's own runner"}
    for path in sorted(paths):
        if path.count("/") <= 1 and path.rpartition("/")[2] == "manage.py":
            yield {**commands.manage(path), "why": f"{path}, of a Django site"}
            return


def _command_lines(texts: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """(command, folder, source), the most reliable first."""
    yield from _of_guides(texts, is_for_agents=True)
    if "tox.ini" in texts:
        yield from configs.tox(texts["tox.ini"])
    if "tox:tox" in texts.get("setup.cfg", ""):
        for command, folder, where in configs.tox(texts["setup.cfg"]):
            yield command, folder, where.replace("tox.ini", "setup.cfg")
    for name, read in (("noxfile.py", configs.nox), ("pyproject.toml", configs.pyproject), ("pixi.toml", configs.pixi)):
        if name in texts:
            yield from ((command, "", where) for command, where in read(texts[name]))
    for name in sorted(filter(_CI.fullmatch, texts)):
        places = re.findall(r"^[ \t]*working-directory:[ \t]*[\"']?([\w./-]+)", texts[name], re.MULTILINE)
        for folder in list(dict.fromkeys(["", *places]))[:3]:
            yield from ((command, folder, where) for command, where in configs.workflow(name, texts[name]))
    for name in _MAKEFILES:
        if name in texts:
            yield from ((command, "", where) for _, command, where in configs.makefile(texts[name], name))
    for name in sorted(filter(_DEVCONTAINER.fullmatch, texts)):
        yield from ((command, "", where) for command, where in configs.devcontainer(name, texts[name]))
    yield from _of_guides(texts, is_for_agents=False)


def _of_guides(texts: dict[str, str], *, is_for_agents: bool) -> Iterator[tuple[str, str, str]]:
    """The commands in guides for people; those under headings about tests come first."""
    for name in guides.guide_files(list(texts)):
        if guides.is_for_agents(name) == is_for_agents:
            yield from ((command, folder, name) for command, folder, _ in guides.commands(name, texts[name]))


def _told(paths: frozenset[str], texts: dict[str, str]) -> list[dict]:
    """The commands of guides, tox, nox, CI files and Makefiles; commands that run the whole suite first."""
    found: dict[str, dict] = {}
    for command, folder, where in _command_lines(texts):
        folder = folder.removeprefix("./").rstrip("/").removeprefix(".")
        plan = commands.parse(command, paths | commands.seen_from(folder, paths))
        if plan:
            plan["cwd"] = "/".join(filter(None, (folder, plan["cwd"])))
            if not commands.seen_from(plan["cwd"], paths):
                plan["cwd"] = ""  # a build creates the folder, or it is the clone itself
            plan["narrow"] += 3 * (where in texts and folder != "")  # a guide or CI file of a part of the project
            verb = "names" if where in texts and not _CI.fullmatch(where) else "runs"
            found.setdefault(str(_key(plan)), {**plan, "why": f"{where} {verb} this command"})
    return sorted(found.values(), key=lambda plan: plan["narrow"])[:6]


def _unknown(paths: frozenset[str], texts: dict[str, str]) -> list[dict]:
    """Commands that guides describe as tests, although their runner is unknown: tried last, and unchanged."""
    found = []
    for name in guides.guide_files(list(texts)):
        for command, folder, is_of_tests in guides.commands(name, texts[name]):
            if is_of_tests and _may_test(command, paths | commands.seen_from(folder, paths)):
                before = f"cd {folder} && " if folder else ""
                found.append({**commands.whole(before + command), "why": f"tried last: {name} names this command"})
    return found[:2]


def _may_test(command: str, paths: frozenset[str]) -> bool:
    words = [*command.split(), ""]
    if command.endswith((".", ",")) or "``" in command:
        return False  # the text is prose
    is_path = "/" in words[0] and words[0].removeprefix("./") in paths and not words[0].endswith(".py")
    is_program = len(words) > 2 and re.fullmatch(r"[\w.-]*[a-z]", words[0]) is not None and words[0] not in _NO_TESTS
    return (
        (is_path or is_program) and re.search(r"test|check", command) is not None and not commands.parse(command, paths)
    )


def _settings(texts: dict[str, str]) -> str | None:
    """The file with pytest's settings."""
    for name in ("pytest.ini", ".pytest.ini"):
        if name in texts:
            return name
    pytest = configs.table(configs.read_toml(texts.get("pyproject.toml", "")), "tool", "pytest")
    if pytest:
        return "pyproject.toml"
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if configs.read_ini(texts.get(name, "")).has_section(section):
            return name
    return None


def _guessed(paths: list[str], texts: dict[str, str]) -> Iterator[dict]:
    tests = {path: text for path, text in texts.items() if is_test_file(path)}
    by_pytest = [
        path for path, text in tests.items() if re.search(r"^[ \t]*(import|from) pytest\b", text, re.MULTILINE)
    ]
    by_functions = [path for path, text in tests.items() if re.search(r"^(async )?def test_", text, re.MULTILINE)]
    pytest = commands.plan_of("pytest", [], "python -m pytest")
    name = _settings(texts)
    conftests = [path for path in paths if path.rpartition("/")[2] == "conftest.py"]
    lists = [path for path in texts if _REQUIREMENTS.fullmatch(path) and _LISTS_PYTEST.search(texts[path])]
    reasons = [
        f"{name} has pytest settings" if name else None,
        f"{lists[0]} lists pytest" if lists else None,
        f"{conftests[0]} configures pytest" if conftests else None,
        f"{by_pytest[0]} imports pytest" if by_pytest else None,
        f"{by_functions[0]} defines test functions" if by_functions else None,
    ]
    why = next(filter(None, reasons), None)
    if why:
        yield {**pytest, "why": why}
    yield from _unittest(paths, tests, texts.get("setup.py", ""))
    if tests and not why:
        yield {**pytest, "why": "pytest also runs unittest tests"}
    for name in _MAKEFILES[:3]:
        for target, _, where in configs.makefile(texts.get(name, "")):
            if target not in ("test", "tests", "check", "unittest", "unittests", "pytest"):
                continue
            yield {**commands.whole(f"make {target}"), "why": f"tried last: {where}"}
            return


def _unittest(paths: list[str], tests: dict[str, str], setup: str) -> Iterator[dict]:
    suite = re.search(r"test_suite\s*=\s*[\"']([\w.]+)", setup)
    if suite:
        plan = commands.plan_of("unittest", [suite[1]], f"python -m unittest {suite[1]}")
        yield {**plan, "why": "test_suite of setup.py"}
    folders = sorted({path.split("/")[0] for path in tests if "/" in path}, key=lambda name: "test" not in name)
    if not tests:
        return
    first = folders[0] if folders else ""
    start = first if "test" in first else ""
    top = "." if start and f"{start}/__init__.py" in paths else ""
    for plan in [commands.discover(start, "", top), *([commands.discover()] if start else [])]:
        yield {**plan, "why": "there are test files, and nothing mentions pytest"}
