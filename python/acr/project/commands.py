"""Turns a shell command, as tox, CI files and people write it, into a plan for `inside/supervise.py`.

A plan is an object: "runner" (pytest; unittest; hooked: a script or module that uses unittest; sympy; command), "args",
"command" (as a person would write it), "env", "path" (folders from which modules are imported first), "cwd", "select"
(how single tests are named: null, "labels", "sympy"), "parser" (of the log, if the outcomes are in no other place),
"narrow" (how much smaller than the whole suite the command seems to be).
"""

from __future__ import annotations

import re
import shlex

from acr.project import configs

_WRAPPERS = {"poetry", "pipenv", "pipx", "uv", "pdm", "hatch", "rye", "pixi", "conda", "mamba", "micromamba"}
# Options of wrapper programs that take a value.
_OF_WRAPPERS = ("-p", "--python", "-n", "--name", "-e", "--environment", "--env-file", "--extra", "--group", "--no-group", "--only-group",
    "--with", "--with-editable", "--with-requirements", "--directory", "--project", "--package", "--manifest-path", "--from", "--feature")  # fmt: skip
_PREFIXES = {"env", "time", "exec", "command", "xvfb-run", "nice", "sudo", "-", "@"}
_SEPARATORS = {"&&", "||", ";", "|", "&"}
# Options of pytest that change the output, stop early, or hide flaky tests.
_WITH_VALUE = re.compile(
    r"(-n|-r|--numprocesses|--dist|--maxprocesses|--maxfail|--tb|--color|--durations|--durations-min|--junit-?xml|--junit-prefix|"
    r"--verbosity|--cov-config|--cov-report|--cov-fail-under|--cov-context|--html|--report-log|--reruns|--reruns-delay|--timeout|"
    r"--timeout-method|--basetemp|--show-capture|--random-order-seed|--benchmark-\w+|--splits|--group|--log-level|--log-file)"
)
_DROPPED = re.compile(
    r"(-[vqxsl]+|-r\w+|-n\w+|--(cov|no-cov|cov-append|cov-branch|no-cov-on-fail|exitfirst|lf|last-failed|ff|failed-first|nf|sw|stepwise"
    r"|verbose|quiet|showlocals|forked|boxed|self-contained-html|benchmark-\w+|no-header|no-summary|full-trace"
    r"|mypy|mypy-[\w-]+|black|flake8|isort|pylint|ruff|codestyle|codespell|tb-\w+|force-sugar|strict|nbval\w*)(=.*)?)"
)
_NARROWING = ("-k", "-m", "--ignore", "--deselect", "--doctest", "--pyargs", "--run-", "--only-")


def plan_of(runner: str, args: list[str], command: str, **more: object) -> dict:
    """A plan with all its members."""
    plain = {"env": {}, "path": [], "cwd": "", "select": None, "parser": None, "narrow": 0}
    return {**plain, "runner": runner, "args": args, "command": command, **more}


def parse(text: str, paths: frozenset[str]) -> dict | None:
    """The plan for the tests that a command runs; None if it runs no known tests. `paths`: the project's files."""
    if len(text) > configs.MAX_COMMAND:
        return None
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = list(lexer)
    except ValueError:
        return None
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _SEPARATORS:
            parts.append([])
        else:
            parts[-1].append(word)
    cwd = ""
    for part in parts:
        if part[:1] in (["cd"], ["pushd"]) and len(part) == 2 and not part[1].startswith(("/", "..", "$")):
            cwd = part[1].removeprefix("./").rstrip("/").removeprefix(".")
        plan = _part(part, paths | seen_from(cwd, paths), cwd)
        if plan:
            return plan
    return None


def seen_from(folder: str, paths: frozenset[str]) -> frozenset[str]:
    """The paths below a folder, relative to it."""
    prefix = f"{folder}/"
    return frozenset(path[len(prefix) :] for path in paths if path.startswith(prefix)) if folder else paths


def _part(words: list[str], paths: frozenset[str], cwd: str) -> dict | None:
    env, words = _environment(words)
    words = _unwrap(words)
    more, words = _environment(words)
    words = [word for word in words if not re.search(r"\$|[{}<>]|^\d?>", word)]
    plan = _runner(words, paths)
    if plan:
        plan["env"] = {**env, **more}
        plan["path"] = [*plan["path"], *_own_folders(plan["env"].pop("PYTHONPATH", ""))]
        plan["cwd"] = plan["cwd"] or cwd
        plan["narrow"] += 3 * bool(cwd)
    return plan


def _own_folders(path: str) -> list[str]:
    """The folders in a PYTHONPATH that are in the project."""
    folders = [folder.removeprefix("./").rstrip("/") or "." for folder in path.split(":") if folder]
    return [folder for folder in folders if not folder.startswith(("/", "..", "~"))]


def printed(plan: dict) -> str:
    """A plan's command as a person types it in the root: with its folder and its variables."""
    if plan["runner"] == "command" or plan["command"].startswith("cd "):
        return plan["command"]
    words = [f"{name}={shlex.quote(value)}" for name, value in plan["env"].items()]
    before = f"cd {shlex.quote(plan['cwd'])} && " if plan["cwd"] else ""
    return before + " ".join([*words, plan["command"]])


def _environment(words: list[str]) -> tuple[dict[str, str], list[str]]:
    env: dict[str, str] = {}
    while words and (words[0] in _PREFIXES or re.fullmatch(r"[A-Za-z_]\w*=.*", words[0])):
        name, is_set, value = words[0].partition("=")
        if is_set and not re.search(r"[${]", value) and name not in ("PATH", "HOME"):
            env[name] = value
        words = words[1:]
    return env, words


def _skip_options(words: list[str], with_value: tuple[str, ...]) -> list[str]:
    while words and words[0].startswith("-") and words[0] != "-m":
        words = words[2:] if words[0] in with_value else words[1:]
    return words


def _unwrap(words: list[str]) -> list[str]:
    """Remove wrappers that start the real command: "poetry run", "uvx", "coverage run -m"."""
    while words and words[0].rsplit("/", 1)[-1] in _WRAPPERS and "run" in words:
        words = _skip_options(words[words.index("run") + 1 :], _OF_WRAPPERS)
        if words:
            words = [re.sub(r"^[\w.+-]+:(?=\w)", "", words[0]), *words[1:]]  # hatch's environment
    if words[:1] in (["uvx"], ["pyenv"], ["timeout"]):
        words = _skip_options(words[1:], _OF_WRAPPERS)
        words = words[1:] if words and re.fullmatch(r"exec|\d+[smh]?", words[0]) else words
    if words[:2] in (["hatch", "test"], ["rye", "test"]):
        words = ["pytest", *words[2:]]
    if _is_python(words) and words[1:3] == ["-m", "coverage"]:
        words = words[2:]
    if words[:2] == ["coverage", "run"]:
        words = ["python", *_skip_options(words[2:], ("--rcfile", "--source", "--omit", "--include", "--context"))]
    return words


def _is_python(words: list[str]) -> bool:
    return bool(words) and re.fullmatch(r"(.*/)?(python[\d.]*|pypy\d?|py|\{envpython\})", words[0]) is not None


def _runner(words: list[str], paths: frozenset[str]) -> dict | None:
    if not words:
        return None
    program = words[0].rsplit("/", 1)[-1]
    if program in ("pytest", "py.test") or re.fullmatch(r"nosetests[\d.-]*", program):
        return _pytest(words[1:], paths)
    if not _is_python(words):
        return _script_command(words, paths)
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
    if rest[:1] == ["-m"] and len(rest) > 1:
        return _module(rest[1], rest[2:], paths)
    return _script_command(rest, paths) if rest and rest[0].endswith((".py", "bin/test")) else None


def _module(name: str, args: list[str], paths: frozenset[str]) -> dict | None:
    if name in ("pytest", "py.test", "nose"):
        return _pytest(args, paths)
    if name == "unittest":
        return _unittest(args, paths)
    if name in ("nose2", "zope.testrunner") or re.search(r"(^|\.)(run_?tests?|tests?)($|\.)", name):
        return plan_of("hooked", ["-m", name, *args], " ".join(["python -m", name, *args]), narrow=1)
    return None


def _script_command(words: list[str], paths: frozenset[str]) -> dict | None:
    name, args = words[0].removeprefix("./"), words[1:]
    if name in ("zope-testrunner", "nose2", "trial"):
        return _module("zope.testrunner", args, paths) if name == "zope-testrunner" else None
    if name == "bin/test" and "sympy/__init__.py" in paths:
        return sympy([arg for arg in args if not arg.startswith("-")])
    if name.endswith("manage.py") and args[:1] == ["test"]:
        return manage(name)
    if name == "setup.py" and args[:1] == ["test"]:
        return plan_of("unittest", ["discover"], "python -m unittest discover", narrow=2)
    if name.endswith("runtests.py") and "django/__init__.py" in paths:
        return django([arg for arg in args if re.fullmatch(r"[A-Za-z_][\w.]*", arg)])
    base = name.rsplit("/", 1)[-1]
    if re.fullmatch(r"(run_?)?(all_?)?tests?(_?(all|suite|runner))?\.py", base):
        return plan_of("hooked", [name, *args], " ".join(["python", name, *args]), narrow=1)
    return None


def _pytest(args: list[str], paths: frozenset[str]) -> dict:
    kept, narrow, at = [], 0, 0
    while at < len(args):
        word = args[at]
        name = word.partition("=")[0]
        at += 1
        if _WITH_VALUE.fullmatch(name) and word != "-r":
            at += "=" not in word and at < len(args) and not args[at].startswith("-")
            continue
        if _DROPPED.fullmatch(word):
            continue
        kept.append(word)
        narrow += 2 * word.startswith(_NARROWING)
        is_value = at > 1 and re.fullmatch(r"-[kmpWoc]|--ignore|--rootdir|--deselect|--import-mode", args[at - 2])
        if is_value or word.startswith("-"):
            continue
        narrow += 4 * (word.endswith(".py") or "::" in word)
        if not _exists(word, paths):  # the path contains a variable, or a build makes the file
            kept.pop()
            narrow += 1
    return plan_of("pytest", kept, " ".join(["python -m pytest", *map(shlex.quote, kept)]), narrow=narrow)


def _exists(word: str, paths: frozenset[str]) -> bool:
    word = word.split("::")[0].removeprefix("./").rstrip("/")
    return word in ("", ".") or "*" in word or word in paths or any(path.startswith(word + "/") for path in paths)


_DISCOVERY = {"start-directory": "s", "pattern": "p", "top-level-directory": "t"}


def _unittest(args: list[str], paths: frozenset[str]) -> dict | None:
    """A plan for unittest; `-k` is dropped, so all tests run, and the plan's command shows that."""
    named, values, rest = [], {}, iter(args)
    for arg in rest:
        option = re.fullmatch(r"-([sptk])(?:=?(.+))?|--(start-directory|pattern|top-level-directory)(?:=(.*))?", arg)
        if option:
            value = option[2] or option[4] or next(rest, "")
            values[option[1] or _DISCOVERY[option[3]]] = value
        elif not arg.startswith("-"):
            named.append(arg)
    if named and named[0] != "discover":
        named = [
            re.sub(r"[\\/]", ".", name.removeprefix("./")[:-3]) if name.endswith(".py") else name for name in named
        ]
        return plan_of("unittest", named, shlex.join(["python", "-m", "unittest", *named]), narrow=2 * len(named) > 2)
    start = (values.get("s") or "".join(named[1:2])).removeprefix("./").rstrip("/")
    if start not in ("", ".") and paths and not seen_from(start, paths):
        return None  # the command runs elsewhere
    return discover(*(values.get(name) or found for name, found in zip("spt", [*named[1:4], "", "", ""])))


def discover(start: str = "", pattern: str = "", top: str = "") -> dict:
    """The plan for unittest's own discovery; "" selects its default."""
    words = ["python", "-m", "unittest", "discover"]
    for option, value in (("-s", start), ("-p", pattern), ("-t", top)):
        words += [option, value] if value else []
    return plan_of("unittest", ["discover", start, pattern, top], shlex.join(words))


def sympy(files: list[str] | None = None) -> dict:
    """The plan for sympy's own runner, for these files only; its cache saves time and changes no outcome."""
    args = ["bin/test", "--verbose", *(files or [])]
    return plan_of("sympy", [*args, "--no-subprocess"], " ".join(args), select="sympy", parser="sympy")


def django(labels: list[str] | None = None) -> dict:
    """The plan for Django's own suite, or for these parts of it. It uses one process: with more, Django reports a test
    only when its whole class has ended, so no report would name a test that hangs with a patch."""
    args = ["runtests.py", "--parallel=1", "--verbosity=1", *(labels or [])]
    command = " ".join(["cd tests && python", *args])
    return plan_of("hooked", args, command, cwd="tests", path=["."], select="labels", labels_at=3)


def manage(script: str) -> dict:
    """The plan for the tests of a Django site."""
    folder, _, name = script.rpartition("/")
    args = [name, "test", "--noinput"]
    return plan_of("hooked", args, f"python {script} test --noinput", cwd=folder, select="labels", labels_at=3)


def whole(text: str, why: int = 9) -> dict:
    """A plan that runs a command unchanged."""
    return plan_of("command", [], text, parser="any", narrow=why)


def given(text: str, paths: frozenset[str]) -> dict:
    """The plan for the user's command, with "why". The command runs unchanged unless it is a known one. If it names a
    missing file, the runner reports the error."""
    named = {word.split("::")[0].removeprefix("./").rstrip("/") for word in text.split()}
    plan = parse(text, paths | named)
    is_plain = plan is not None and not re.search(r"&&|\|\||[;|&\n`$]", text)
    plan = {**plan, "narrow": 0} if plan and is_plain else whole(text)
    same = plan["command"].removeprefix("python -m ") == text.strip().removeprefix("python -m ")
    why = "you gave this command" if same else f"you gave {text.strip()!r}; this form shows the outcome of each test"
    return {**plan, "why": why}
