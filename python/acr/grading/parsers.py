"""Logs of test runners -> {test: outcome}, as SWE-bench's package reads them.

A log can misreport what happened. A parser repeats the package's reading, mistakes included, so that grades are equal.
An outcome is one of `OUTCOMES`, or another first word of a line that looks like an outcome. A parser is a function
(log: str, rules: int) -> dict; `rules` is 4 or 5, the package's version.
"""

from __future__ import annotations

import hashlib
import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Parser = Callable[[str, int], dict[str, str]]

PASSED, FAILED, SKIPPED, ERROR, XFAIL = OUTCOMES = ("PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL")

_SKIP_COUNT = re.compile(r"\[\d+\]")
_OPTION = re.compile(r"(.*?)\[(.*)\]")
_COLOUR = re.compile(r"\[(\d+)m")
_CONTROL = str.maketrans("", "", "".join(map(chr, range(1, 32))))


class UnknownParser(LookupError):
    """No parser has that name, or none reads that project's logs."""


def pytest(log: str, rules: int) -> dict[str, str]:
    """Reads the lines "OUTCOME test ..." of pytest's short summary (-rA)."""
    return dict(_summary(log, rules))


def pytest_options(log: str, rules: int) -> dict[str, str]:
    """As `pytest`; if a parameter is an absolute path, keeps only its last part."""
    return {_short_option(test): outcome for test, outcome in _summary(log, rules)}


def pytest_v2(log: str, rules: int) -> dict[str, str]:
    """As `pytest`, without colours and control characters; also "test OUTCOME" of older pytest. From 5 on, ids may
    contain blanks."""
    found = {}
    for coloured in log.split("\n"):
        line = _COLOUR.sub("", coloured).translate(_CONTROL)
        if line.startswith(OUTCOMES):
            if line.startswith(FAILED):
                line = line.replace(" - ", " ") if rules == 4 else line.split(" - ", 1)[0]
            words = line.split()
            if len(words) > 1 and not _is_skip_count(words, rules):
                found[words[1] if rules == 4 else " ".join(words[1:])] = words[0]
        elif line.endswith(OUTCOMES):
            words = line.split()
            if len(words) > 1 and rules == 4:
                found[words[0]] = words[1]
            elif len(words) > 1:
                found[" ".join(words[:-1])] = words[-1]
    return found


def matplotlib(log: str, rules: int) -> dict[str, str]:
    """As `pytest`; replaces names of mouse buttons by their numbers."""
    return pytest(log.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"), rules)


def seaborn(log: str, rules: int) -> dict[str, str]:
    """Reads the lines "FAILED test", "test PASSED ..." and "PASSED test"."""
    del rules
    found = {}
    for line in log.split("\n"):
        words = line.split()
        if len(words) < 2:  # version 4 fails with an error here, if the line is only FAILED or PASSED
            continue
        if line.startswith(FAILED):
            found[words[1]] = FAILED
        elif f" {PASSED} " in line:
            if words[1] == PASSED:
                found[words[0]] = PASSED
        elif line.startswith(PASSED):
            found[words[1]] = PASSED
    return found


def sympy(log: str, rules: int) -> dict[str, str]:
    """Reads headings "____ file.py:test ____" of failures, then lines "test_name ok", "... F", "... E"."""
    del rules
    lines = log.split("\n")
    found = {}
    for line in lines:
        heading = _sympy_heading(line)
        if heading:
            found[heading] = FAILED
    for line in map(str.strip, lines):
        if line.startswith("test_"):
            for end, outcome in ((" E", ERROR), (" F", FAILED), (" ok", PASSED)):
                if line.endswith(end):
                    found[line.split()[0]] = outcome
    return found


def _sympy_heading(line: str) -> str | None:
    r"""Finds what the package's `(_*) (.*)\.py:(.*) (_*)` finds, where the underscores may be missing, in linear time."""
    first, last = line.find(" "), line.rfind(" ")
    at = line.rfind(".py:", 0, max(last, 0))
    return line[first + 1 : last] if at > first >= 0 else None


def django(log: str, rules: int) -> dict[str, str]:
    """Reads lines such as "name ... ok"; a test's own output may stand between its name and its outcome."""
    del rules
    found = {}
    last = None
    for line in map(str.strip, log.split("\n")):
        if "--version is equivalent to version" in line:
            found["--version is equivalent to version"] = PASSED
        if " ... " in line:
            last = line.split(" ... ")[0]
        _django_line(line, found)
        if line.startswith("ok") and last is not None:
            found[last] = PASSED
    for interruption in _DJANGO_INTERRUPTIONS:
        for match in interruption.finditer(log):
            found[match[1]] = PASSED
    return found


_APPLYING = "Applying sites.0002_alter_domain_unique...test_no_migrations"


def _django_line(line: str, found: dict[str, str]) -> None:
    for end in (" ... ok", " ... OK", " ...  OK"):
        if line.endswith(end):
            if line.startswith(_APPLYING):
                line = line.split("...", 1)[-1].strip()
            found[line.rsplit(end, 1)[0]] = PASSED
            break
    if " ... skipped" in line:
        found[line.split(" ... skipped")[0]] = SKIPPED
    for end, heading, outcome in ((" ... FAIL", "FAIL:", FAILED), (" ... ERROR", "ERROR:", ERROR)):
        if line.endswith(end):
            found[line.split(end)[0]] = outcome
        if line.startswith(heading):
            words = line.split()
            if len(words) > 1:
                found[words[1]] = outcome


# Messages of Django that may separate a test's name from the "ok" on a line of its own.
_DJANGO_INTERRUPTIONS = [
    re.compile(r"^(.*?)\s\.{3}\s" + message + r"\nok$", re.MULTILINE)
    for message in (
        r"Testing against Django installed in (?s:.*?) silenced\)\.",
        r"Internal Server Error: /.*/",
        r"System check identified no issues \(0 silenced\)",
    )
]


def _summary(log: str, rules: int) -> Iterator[tuple[str, str]]:
    for line in log.split("\n"):
        if line.startswith(OUTCOMES):
            words = (line.replace(" - ", " ") if line.startswith(FAILED) else line).split()
            if len(words) > 1 and not _is_skip_count(words, rules):
                yield words[1], words[0]


def _is_skip_count(words: list[str], rules: int) -> bool:
    """Whether the line counts skips, "SKIPPED [3] file:line: reason"; version 4 reads "[3]" as a test."""
    return rules != 4 and words[0] == SKIPPED and _SKIP_COUNT.fullmatch(words[1]) is not None


def _short_option(test: str) -> str:
    found = _OPTION.search(test)
    if not found:
        return test
    main, option = found.groups()
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.split("/")[-1]
    return f"{main}[{option}]"


def reward_of(log: str) -> Any:
    """The output of a Harbor task's verifier: its JSON value, otherwise its text; None: no output."""
    found = re.findall(r"^>>>>> Reward: (.+)$", log, re.MULTILINE)
    try:
        return json.loads(found[-1], parse_constant=_refuse_constant) if found else None
    except ValueError:
        return found[-1]


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def harbor(log: str, rules: int) -> dict[str, str]:
    """Reads the last line ">>>>> Reward: VALUE". The task has one test, which passes if the number is 1 or more; if the
    value is an object, its "reward" counts, otherwise all of its values."""
    value = reward_of(log)
    values = [value.get("reward")] if isinstance(value, dict) and "reward" in value else value
    values = list(values.values()) if isinstance(values, dict) else values if isinstance(values, list) else [values]
    if not values or not all(type(at) in (int, float) and abs(at) < float("inf") for at in values):
        return {}
    return {"verifier": PASSED if min(values) >= 1 else FAILED}


PARSERS: dict[str, Parser] = {
    f"parse_log_{name}": parser
    for parser, names in (
        (pytest, ("pytest", "astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray")),
        (pytest_options, ("pytest_options", "pydicom", "requests", "pylint")),
        (pytest_v2, ("pytest_v2", "astropy", "scikit", "sphinx")),
        (matplotlib, ("matplotlib",)),
        (seaborn, ("seaborn",)),
        (sympy, ("sympy",)),
        (django, ("django",)),
        (harbor, ("harbor",)),
    )
    for name in names
}

_OF_SWE_GYM = (
    *("Project-MONAI/MONAI", "bokeh/bokeh", "conan-io/conan", "dask/dask", "facebookresearch/hydra", "getmoto/moto"),
    *("iterative/dvc", "modin-project/modin", "pandas-dev/pandas", "pydantic/pydantic", "python/mypy"),
)
# For rows that name no parser: the parser of the project.
_PROJECTS = {
    **dict.fromkeys(_OF_SWE_GYM, "pytest"),
    "astropy/astropy": "astropy",
    "django/django": "django",
    "marshmallow-code/marshmallow": "marshmallow",
    "matplotlib/matplotlib": "matplotlib",
    "mwaskom/seaborn": "seaborn",
    "pallets/flask": "flask",
    "psf/requests": "requests",
    "pvlib/pvlib-python": "pvlib",
    "pydata/xarray": "xarray",
    "pydicom/pydicom": "pydicom",
    "pylint-dev/astroid": "astroid",
    "pylint-dev/pylint": "pylint",
    "pytest-dev/pytest": "pytest",
    "pyvista/pyvista": "pyvista",
    "scikit-learn/scikit-learn": "scikit",
    "sphinx-doc/sphinx": "sphinx",
    "sqlfluff/sqlfluff": "sqlfluff",
    "sympy/sympy": "sympy",
}


def parser_of(row: dict) -> Parser:
    """The parser that a row names in "log_parser", or its project's. Raises UnknownParser.

    If the parser is the user's own, the row's "log_outcomes" has its results for each log: {SHA-256: {test: outcome}}.
    """
    if "log_outcomes" in row:
        said = row["log_outcomes"]
        return lambda log, _: said.get(hashlib.sha256(log.encode("utf-8", "surrogatepass")).hexdigest(), {})
    name = row.get("log_parser") or f"parse_log_{_PROJECTS.get(row.get('repo'))}"
    if name not in PARSERS:
        if row.get("log_parser"):
            raise UnknownParser(f"there is no log parser '{row['log_parser']}'; known: {', '.join(sorted(PARSERS))}")
        fit = '"log_parser", such as "parse_log_pytest", or "parse_log_django" for unittest'
        raise UnknownParser(f"'{row.get('repo')}' is not a known project, and the row has no {fit}")
    return PARSERS[name]
