"""How a project's files show how to run its tests: tox, nox, pyproject, CI files, Makefiles; which tests are nearest to a change."""

from __future__ import annotations

import difflib
import json

import pytest
from acr.project import commands, configs, detect, guides, import_folders, logs, nearest, service, set_ups

PATHS = ["pkg/__init__.py", "pkg/a.py", "tests/test_a.py", "tests/conftest.py", "tests/unit/test_b.py"]
TEXTS = {"tests/test_a.py": "import pytest\n\n\ndef test_a():\n    pass\n"}


def first(texts: dict[str, str], paths: list[str] | None = None) -> tuple[str, str, str]:
    """Runner, command and reason of the best guess."""
    plan = detect.detect([*(paths or PATHS), *texts], {**TEXTS, **texts} if paths is None else texts)[0]
    return plan["runner"], plan["command"], plan["why"]


@pytest.mark.parametrize(
    "text,command",
    [
        ("pytest", "python -m pytest"),
        ("py.test -v -x --cov=pkg --cov-report term -n auto tests", "python -m pytest tests"),
        ("coverage run --source pkg -m pytest -q --tb short tests/unit", "python -m pytest tests/unit"),
        ("poetry run python -W error -m pytest --reruns 3 tests -k 'not slow'", "python -m pytest tests -k 'not slow'"),
        ("cd tests && A=1 pytest .", "cd tests && A=1 python -m pytest ."),
        ("uv run --extra dev pytest --maxfail=1", "python -m pytest"),
        ("pixi run -e test pytest tests", "python -m pytest tests"),
        ("uvx --with pytest-cov pytest", "python -m pytest"),
        ("hatch run test:pytest tests", "python -m pytest tests"),
        ("hatch test tests/unit", "python -m pytest tests/unit"),
        ("PYTHONPATH=lib nosetests tests", "python -m pytest tests"),
        ("python -m unittest discover -s tests", "python -m unittest discover -s tests"),
        (
            "python -m unittest discover -v tests '*_test.py' .",
            "python -m unittest discover -s tests -p '*_test.py' -t .",
        ),
        (
            "python -m unittest discover --pattern=*_a.py -stests -k b",
            "python -m unittest discover -s tests -p '*_a.py'",
        ),
        ("python3.9 -m unittest tests.test_a", "python -m unittest tests.test_a"),
        ("python -m unittest ./tests/test_a.py", "python -m unittest tests.test_a"),
        ("python setup.py test", "python -m unittest discover"),
        ("python -bb -m pkg.test.runtests --fast", "python -m pkg.test.runtests --fast"),
        ("flake8 tests", None),
        ("pip install pytest", None),
        ("echo 'unclosed", None),
    ],
)
def test_commands(text: str, command: str | None) -> None:
    plan = commands.parse(text, frozenset(PATHS))
    assert (plan and commands.printed(plan)) == command


def test_environment_and_folder() -> None:
    plan = commands.parse("cd tests && PKG_MODE=1 PYTHONPATH=./lib:/usr pytest .", frozenset(PATHS))
    assert plan is not None
    assert (plan["env"], plan["cwd"], plan["path"]) == ({"PKG_MODE": "1"}, "tests", ["lib"])


@pytest.mark.parametrize(
    "name,text,command,why",
    [
        ("tox.ini", "[testenv]\ncommands =\n  pip list\n  pytest {posargs:tests}\n", "tests", "[testenv] of tox.ini"),
        ("tox.ini", "[a]\nc = pytest tests\n[testenv:py3]\ncommands = {[a]c}\n", "tests", "[testenv:py3] of tox.ini"),
        ("tox.ini", "[testenv]\nchangedir = {toxworkdir}\ncommands =\n  # all\n  py3: pytest tests\n", "tests", "[testenv]"),
        ("tox.ini", "[testenv]\ncommands = pytest tests\n[odd\n= no\n", "tests", "[testenv]"),
        ("noxfile.py", "@nox.session\ndef tests(session):\n    session.run('pytest', 'tests', *session.posargs)\n", "tests", "noxfile.py"),
        ("pyproject.toml", "[tool.hatch.envs.test.scripts]\ntest = 'pytest {args:tests}'\n", "tests", "pyproject.toml"),
        ("pyproject.toml", "[tool.tox.env_run_base]\ncommands = [['pytest', {replace='posargs', default=['tests']}]]\n", "tests", "tox's"),
        (".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n      - run: |\n          pytest -v tests\n", "tests", "ci.yml"),
        ("pixi.toml", "[feature.t.tasks]\ntest = { cmd = ['pytest', '-v', 'tests'], cwd = '.' }\n", "tests", "[feature.t.tasks] of pixi.toml"),
        (".devcontainer/devcontainer.json", '{ // a\n"postCreateCommand": {"a": ["pytest", "tests"],},}', "tests", "postCreateCommand of"),
        (".vscode/settings.json", '{"python.testing.pytestArgs": ["tests"],}', "tests", "python.testing of .vscode"),
        ("uv.lock", '[[package]]\nname = "pytest"\n', "", "uv.lock lists pytest"),
        ("environment.yml", "dependencies:\n  - python\n  - pytest>=7\n", "", "environment.yml lists pytest"),
        ("AGENTS.md", "# Tests\n\n```sh\npytest -q tests\n```\n", "tests", "AGENTS.md names this command"),
        ("CONTRIBUTING.rst", "Not `pytest`: run the tests::\n\n    $ pytest tests\n    3 passed\n", "tests", "CONTRIBUTING.rst names this command"),
        ("justfile", "test *args:\n    @uv run pytest -q tests {{args}}\n", "tests", "target test of the justfile"),
        ("Makefile", "PY = python3\ntest: build\n\t@$(PY) -m pytest -q tests\n", "tests", "target test"),
    ],
)  # fmt: skip
def test_files_that_say_it(name: str, text: str, command: str, why: str) -> None:
    runner, found, reason = first({name: text})
    assert (runner, found) == ("pytest", f"python -m pytest {command}".rstrip())
    assert why in reason


@pytest.mark.parametrize(
    "text,found",
    [
        pytest.param("Run `pytest -q`.", ["pytest -q"], id="inline"),
        pytest.param("Do not run `python -m unittest` or `nose2`; use `pytest`.", ["pytest"], id="a warning"),
        pytest.param("Use `pytest`, never `tox -e all`.", ["pytest"], id="a warning behind it"),
        pytest.param("`nosetests` does not work here. `pytest` does.", ["pytest"], id="what does not work"),
        pytest.param("<!-- `rm -rf /` -->\nTests: ``pytest``", ["pytest"], id="hidden text"),
        pytest.param("Never run this:\n```\nrm -rf /\n```\nbut:\n~~~ console\n(v) $ a \\\n  b\nout\n~~~", ["a  b"], id="blocks"),
        pytest.param("```python\npytest\n```\n```toml\na\n```", [], id="other languages"),
        pytest.param("```\ngit clone x/y\ncd y\ncd sub\nexport A=1\npytest\n```", ["git clone x/y", "cd sub && A=1 pytest"], id="state"),
        pytest.param("## Forbidden: never\n`a`\n## Tests\n`b`", ["b"], id="a heading that warns"),
        pytest.param("Lint: `a`\n\nTests\n-----\n\n* `b`\n\nOther\n-----\n\n.. code:: sh\n\n   c\n", ["b", "a", "c"], id="order"),
        pytest.param("* x\n\n  .. code-block:: sh\n\n     a\n\n  prose", ["a"], id="a block in a list"),
        pytest.param("| Run tests | `pytest` |\n", ["pytest"], id="a table"),
        pytest.param("word `" * 40_000, ["word"] * 60, id="one paragraph"),
        pytest.param("```\n" + "\\\n " * 80_000, [], id="one line"),
        pytest.param("`" * 20_001 + "\n" + "<!--" * 20_000, [], id="runs of marks"),
        pytest.param("\n\n".join(["`a`"] * 5_000), ["a"] * 60, id="too many"),
    ],
)  # fmt: skip
def test_commands_of_guides(text: str, found: list[str]) -> None:
    assert [command for command, _, _ in guides.commands("AGENTS.md", text)] == found


def test_a_guide_of_a_folder_speaks_of_that_folder() -> None:
    text = "## Testing\n`pytest tests` or `./run-checks --fast`, `rm -rf / # test`\n"
    ci = "steps:\n- run: python -m unittest discover -s tests\n  working-directory: ./api\n"
    texts = {"api/AGENTS.md": text, ".github/workflows/a.yml": ci}
    plans = detect.detect(["api/AGENTS.md", "api/tests/test_a.py", "api/run-checks"], texts)
    assert "cd api && python -m unittest discover -s tests" in [plan["command"] for plan in plans]
    found = [plan["command"] for plan in plans if plan["why"].endswith("api/AGENTS.md names this command")]
    assert found == ["cd api && python -m pytest tests", "cd api && ./run-checks --fast", "cd api && rm -rf / # test"]


def test_guesses() -> None:
    assert first({"setup.cfg": "[tool:pytest]\n"})[2] == "setup.cfg has pytest settings"
    by_unittest = {"tests/test_a.py": "import unittest\n\n\nclass A(unittest.TestCase):\n    pass\n"}
    assert first(by_unittest, ["tests/__init__.py"])[:2] == ("unittest", "python -m unittest discover -s tests -t .")
    assert first({}, ["bin/test", "sympy/__init__.py"])[0] == "sympy"
    assert first({}, ["tests/runtests.py", "django/__init__.py"])[1].endswith("runtests.py --parallel=1 --verbosity=1")
    assert first({}, ["manage.py", "shop/tests.py"])[1] == "python manage.py test --noinput"
    assert first({"Makefile": "check:\n\t./odd\n"}, ["a.c"])[:2] == ("command", "make check")
    assert detect.detect(["README"], {}) == []


def test_malformed_files_are_no_harm() -> None:
    bad = dict.fromkeys(
        ["tox.ini", "pixi.toml", ".devcontainer.json", "AGENTS.md", "pyproject.toml", "noxfile.py", "Makefile"],
        "[[[\n=\n\x00{{",
    )
    assert first(bad)[2].startswith("tests/conftest.py")


def test_strings_that_do_not_end_are_read_in_linear_time() -> None:
    assert configs.read_json('"\\' * 100_000) == configs.read_json("/*" * 100_000) == {}
    long = 200_000
    texts = {
        "Makefile": "a-" * long,
        ".github/workflows/a.yml": "\n" * long + "- run: test ${{" + "${{" * long,
        "tox.ini": "[testenv]\ncommands = " + "{posargs:{}" * long,
        "noxfile.py": "(" * long,
        "pyproject.toml": "x = " + "[" * long,
        "AGENTS.md": "```\npip install" + " " * long,
    }
    for name, text in texts.items():
        assert not [plan for plan in detect.detect([name], {name: text}) if plan["runner"] != "pytest"]
        assert all(" -e ." in plan["command"] for plan in set_ups.find_set_ups([name], {name: text}, has_network=True))


def test_a_given_command_with_shell_syntax_is_run_as_it_is() -> None:
    assert commands.given("pytest tests; true", frozenset(PATHS))["runner"] == "command"
    plan = commands.given("pytest tests", frozenset(PATHS))
    assert (plan["runner"], plan["why"]) == ("pytest", "you gave this command")
    other = commands.given("pytest -x tests/test_nowhere.py", frozenset(PATHS))
    assert other["command"] == "python -m pytest tests/test_nowhere.py"
    assert other["why"] == "you gave 'pytest -x tests/test_nowhere.py'; this form shows the outcome of each test"


def test_nearest() -> None:
    texts = {
        "pkg/__init__.py": "",
        "pkg/low.py": "",
        "pkg/high.py": "from .low import (\n    thing,\n)\n",
        "tests/test_far.py": "import os\n",
        "tests/test_high.py": "import pkg.high\n",
        "tests/test_low.py": "from pkg import low\n",
        "tests/test_user.py": "from pkg.low import thing\n",
    }
    order = nearest.order(["pkg/low.py"], texts)
    assert [path[len("tests/test_") : -3] for path in order] == ["low", "user", "high", "far"]


def test_sympy_names_stand_in_files() -> None:
    log = "sympy/a/tests/test_a.py[2] \ntest_x ok\ntest_y F\n   [FAIL]\nsympy/b/tests/test_b.py[1] \ntest_x E\n"
    assert logs.outcomes("sympy", log) == {
        "sympy/a/tests/test_a.py:test_x": "passed",
        "sympy/a/tests/test_a.py:test_y": "failed",
        "sympy/b/tests/test_b.py:test_x": "error",
    }


def test_service() -> None:
    asked = {"paths": PATHS, "texts": [["tests/test_a.py", TEXTS["tests/test_a.py"]]], "given": None}
    assert json.loads(service.detect(json.dumps(asked).encode()))[0]["runner"] == "pytest"
    asked["given"] = "./odd --run"
    (plan,) = json.loads(service.detect(json.dumps(asked).encode()))
    assert (plan["runner"], plan["command"]) == ("command", "./odd --run")
    text = {"text": "E   ModuleNotFoundError: No module named 'numpy.core'\nNo module named scipy\n"}
    assert json.loads(service.missing(json.dumps(text).encode())) == ["numpy", "scipy"]


# ---- How a project is set up ----

PIP = "python3 -m pip install"


@pytest.mark.parametrize(
    "files,command",
    [
        pytest.param({"AGENTS.md": "Set-up: `make dev-setup`, then `pip install -U pip`.\n"}, "make dev-setup", id="a target"),
        pytest.param({"AGENTS.md": "```\npip install -r a.txt\nuv pip install -e '.[x]'\n```\n", "a.txt": ""}, f"{PIP} -r a.txt && {PIP} -e '.[x]'", id="a sequence"),
        pytest.param({"AGENTS.md": "Never `make install-it`. `pip install -r lost.txt`, `pip install -e $(x)`.\n"}, None, id="not these"),
        pytest.param({"AGENTS.md": "Run `uv sync`.\n", "pyproject.toml": "[dependency-groups]\ntest = ['a>1', {include-group='o'}]\no = ['b', 'ruff']\n"}, f"{PIP} -e . 'a>1' b", id="uv"),
        pytest.param({"pyproject.toml": "[project.optional-dependencies]\ntest = ['a']\ndocs = ['b']\n"}, f"{PIP} -e '.[test]'", id="extras"),
        pytest.param({"pyproject.toml": "[tool.poetry.group.dev.dependencies]\na = '^1'\n"}, f"{PIP} -e . a", id="poetry"),
        pytest.param({"pixi.toml": "[feature.test.dependencies]\npython = '*'\na = '*'\n"}, f"{PIP} a", id="pixi"),
        pytest.param({"environment.yml": "channels:\n  - c\ndependencies:\n  - python=3.9\n  - x::a>=2\n  - pip:\n    - b\n"}, f"{PIP} a b", id="conda"),
        pytest.param({".devcontainer/devcontainer.json": '{"postCreateCommand": "sudo x; bash ./init.sh"}', "init.sh": ""}, "bash ./init.sh", id="a container"),
        pytest.param({".github/workflows/a.yml": "      - run: pip install .[t] ${{ x }}\n      - run: pip install .[t]\n"}, f"{PIP} '.[t]'", id="CI"),
        pytest.param({"requirements-test.txt": "a\n"}, f"{PIP} -r requirements-test.txt", id="a list"),
    ],
)  # fmt: skip
def test_set_ups(files: dict[str, str], command: str | None) -> None:
    plans = set_ups.find_set_ups(list(files), files, has_network=True)
    assert (plans[0]["command"] if plans else None) == command
    offline = set_ups.find_set_ups(list(files), files, has_network=False)
    assert [plan["command"] for plan in offline] == [set_ups.OFFLINE + plan["command"] for plan in plans]


def test_modules_that_tests_cannot_do_without() -> None:
    text = "import os, attr.b\nfrom pkg import a\nfrom . import c\ntry:\n    import d\nexcept ImportError:\n    d = 0\nimport e\n"
    texts = {"tests/test_a.py": text, "pkg/a.py": "import f\n", "tests/test_b.py": "not Python"}
    assert set_ups.modules_of_tests(list(texts), texts) == ["attr", "e"]


# ---- Where modules are imported from ----


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        pytest.param({"shop/__init__.py": ""}, [], id="flat"),
        pytest.param({"src/shop.py": ""}, ["src"], id="a module in src"),
        pytest.param({"src/corp/shop/__init__.py": ""}, ["src"], id="a namespace package in src"),
        pytest.param({"src/__init__.py": ""}, [], id="src that is a package itself"),
        pytest.param({"lib/tool.py": ""}, [], id="lib of other things"),
        pytest.param({"code/a.py": "", "setup.py": "setup(package_dir={'': 'code'})\n"}, ["code"], id="setup.py"),
        pytest.param(
            {
                "code/shop/a.py": "",
                "tools/b.py": "",
                "setup.py": "setup(packages=find_packages('code', exclude=['tools']))\n",
            },
            ["code"],
            id="find_packages",
        ),
        pytest.param(
            {"code/a.py": "", "setup.cfg": "[options]\npackage_dir =\n    = code\nname = x\n"}, ["code"], id="setup.cfg"
        ),
        pytest.param(
            {"code/a.py": "", "pyproject.toml": '[tool.setuptools.package-dir]\n"" = "code"\n'}, ["code"], id="a table"
        ),
        pytest.param(
            {"code/a.py": "", "pyproject.toml": '[tool.x]\nwhere = [\n  "code",\n]\n'}, ["code"], id="a list of TOML"
        ),
        pytest.param(
            {"code/shop/__init__.py": "", "setup.py": "setup(package_dir={'shop': 'code/shop'})\n"},
            ["code"],
            id="a package by its own folder",
        ),
        pytest.param(
            {"code/a.py": "", "tox.ini": "setenv =\n  PYTHONPATH = {toxinidir}/code\n"}, ["code"], id="tox.ini"
        ),
        pytest.param({"code/a.py": "", "setup.cfg": "omit = code\n"}, [], id="another key"),
        pytest.param({"code/a.py": "", "setup.cfg": "package_dir = ../code/../..\n"}, [], id="a way out"),
        pytest.param(
            {"one/src/a.py": "", "one/setup.py": "", "two/b/__init__.py": "", "two/pyproject.toml": ""},
            ["one/src", "two"],
            id="several projects",
        ),
        pytest.param({"tests/x/src/a.py": "", "tests/x/setup.py": ""}, [], id="projects of tests"),
    ],
)
def test_modules_are_found_where_developers_find_them(files: dict[str, str], folders: list[str]) -> None:
    paths = sorted(files)
    assert import_folders.find(paths, {path: files[path] for path in import_folders.wanted(paths)}) == folders


A = "import pkg\n\n\nclass TestA(Base):\n    def test_one(self):\n        pass\n\n\n@cases\ndef test_n(n):\n    pass\n"


@pytest.mark.parametrize(
    ("test", "path", "before", "after", "is_removed"),
    [
        ("tests/test_a.py::test_n", "tests/test_a.py", A, A.replace("test_n", "test_m"), True),
        ("tests/test_a.py::TestA::test_one", "tests/test_a.py", A, A.replace("TestA", "TestB"), True),
        ("test_a.TestA.test_one", "tests/test_a.py", A, A.replace("test_one", "two"), True),  # of unittest
        ("tests.test_a.TestA.test_one", "tests/test_a.py", A, None, True),
        ("tests/test_a.py::TestA::test_one", "tests/test_b.py", A, None, False),
        ("tests/test_a.py::TestA::test_one", "tests/test_a.py", A, A.replace("def", "__test__ = 0\n    def"), False),
        ("tests/test_a.py::test_n", "tests/test_a.py", A, A.replace("@cases", "if 0:\n  def test_n(n): pass"), False),
        ("tests/test_a.py::test_one", "conftest.py", None, "collect_ignore = ['tests/test_a.py']\n", False),
        ("tests/test_a.py::TestA::test_base", "pkg/base.py", "class Base:\n  def test_base(): pass\n", "", True),
        ("tests/test_a.py::test_n[one]", "tests/data/one.yaml", "1", None, True),
        ("tests/test_a.py::test_n[2]", "tests/test_a.py", A, A.replace("@cases", "@some"), True),
        ("tests/test_a.py::test_n[2]", "pkg/all.py", "ALL = [1, 2]\n", "ALL = [1]\n", False),
        ("tests/test_a.py::test_n[old]", "pkg/all.py", "ALL = [1]\n", "ALL = [2]\n", True),  # renamed
        ("src/pkg/mod.py::pkg.mod.f", "src/pkg/mod.py", "def f():\n    '''>>> 1'''\n", "def f(): pass\n", True),
        ("src/pkg/mod.py::pkg.mod.f", "src/pkg/other.py", "X = 1\n", "X = 2\n", False),
    ],
)
def test_a_patch_removes_a_test_only_with_its_source(
    test: str, path: str, before: str | None, after: str | None, is_removed: bool
) -> None:
    """Other tests that are no longer collected are regressions."""
    sides = ((before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True))
    names = "/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}"
    diff = f"diff --git a/{path} b/{path}\nindex 1..2\n" + "".join(difflib.unified_diff(*sides, *names))
    now = ["tests/test_a.py::test_n[1]", "tests/test_a.py::test_n[new]"][: 1 + ("old" in test)]
    other = "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n"
    asked = {"gone": [test], "before": [test, "tests/test_a.py::test_n[1]"], "now": now, "diff": other + diff}
    assert json.loads(service.removed(json.dumps(asked).encode())) == [test] * is_removed
