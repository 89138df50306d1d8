"""The plug-in by which pytest tells how each test ended, one line of JSON for each event."""

import json
import os

import pytest

FOLDER = os.environ.get("ACR_TESTS", "")
_report = open(os.environ["ACR_TESTS_REPORT"], "a", encoding="utf-8") if "ACR_TESTS_REPORT" in os.environ else None
_owner = os.getpid()


def _load_tracer():
    """A tracer of the tree, where one is asked for."""
    path = os.environ.get("ACR_TESTS_TRACE")
    if not path:
        return None
    space = {"__name__": "acr_line_tracer"}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), space)
    return space["Tracer"](os.environ["ACR_TESTS_ROOT"])


_tracer = _load_tracer()

# Options of plug-ins that a project's settings may name although they are not installed here.
MISSING = {
    "pytest_cov": (
        ["--cov", "?"],
        ["--cov-report", "*"],
        ["--cov-config", "1"],
        ["--cov-branch", "0"],
        ["--no-cov", "0"],
        ["--no-cov-on-fail", "0"],
        ["--cov-fail-under", "1"],
        ["--cov-append", "0"],
        ["--cov-context", "1"],
    ),
    "xdist": (["-n", "1"], ["--numprocesses", "1"], ["--dist", "1"], ["--maxprocesses", "1"]),
    "pytest_timeout": (["--timeout", "1"], ["--timeout-method", "1"], ["--timeout_method", "1"]),
    "pytest_rerunfailures": (["--reruns", "1"], ["--reruns-delay", "1"], ["--only-rerun", "*"]),
    "pytest_benchmark": (
        ["--benchmark-disable", "0"],
        ["--benchmark-skip", "0"],
        ["--benchmark-sort", "1"],
        ["--benchmark-columns", "1"],
        ["--benchmark-group-by", "1"],
        ["--benchmark-autosave", "0"],
    ),
    "pytest_randomly": (["--randomly-seed", "1"], ["--randomly-dont-reorganize", "0"]),
    "pytest_mypy": (["--mypy", "0"], ["--mypy-ignore-missing-imports", "0"]),
    "pytest_black": (["--black", "0"],),
    "pytest_flake8": (["--flake8", "0"],),
    "pytest_asyncio": (["--asyncio-mode", "1"],),
}


def pytest_addoption(parser):
    """Lets them pass, unheeded."""
    from importlib.util import find_spec

    group = parser.getgroup("not installed")
    for module, options in MISSING.items():
        if find_spec(module) is not None:
            continue
        for at, (name, kind) in enumerate(options):
            how = {
                "?": {"nargs": "?", "action": "append", "const": True},
                "*": {"action": "append"},
                "1": {"action": "store"},
                "0": {"action": "store_true"},
            }
            add = group._addoption if name.startswith("-n") and len(name) == 2 else group.addoption
            add(name, dest=f"acr_{module}_{at}", help=f"of {module}", **how[kind])


def tell(**event):
    """Writes an event, unless this is a process that the tests forked."""
    if _report is not None and os.getpid() == _owner:
        _report.write(json.dumps(event) + "\n")
        _report.flush()


def _load(name):
    try:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leaves the tests that were asked for, and puts those first that are nearest to a patch."""
    select, order = _load("select"), _load("order")
    if select is not None:
        wanted = set(select)
        names = [{item.nodeid, item.nodeid.split("::")[0]} for item in items]  # a lost file is its tests
        left = [item for item, own in zip(items, names) if wanted.isdisjoint(own)]
        items[:] = [item for item, own in zip(items, names) if not wanted.isdisjoint(own)]
        if left:
            config.hook.pytest_deselected(items=left)
    if order:
        place = {file: at for at, file in enumerate(order)}
        items.sort(key=lambda item: place.get(item.nodeid.split("::")[0], len(place)))


def pytest_collection_finish(session):
    """Tells which tests there are."""
    tell(collected=[item.nodeid for item in session.items])


def pytest_collectreport(report):
    """Tells of files that cannot be collected."""
    if report.failed:
        tell(test=report.nodeid, outcome="error", message=_text(report))
    elif report.skipped and "::" not in report.nodeid:
        tell(test=report.nodeid, outcome="skipped")


def pytest_runtest_logstart(nodeid):
    """Tells which test is running."""
    tell(start=nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Tells which lines a test ran."""
    if _tracer is None:
        yield
        return
    _tracer.begin()
    try:
        yield
    finally:
        tell(lines=_tracer.end(), of=item.nodeid)


def pytest_runtest_logreport(report):
    """Tells how a test's set-up, call or tear-down ended."""
    outcome = report.outcome
    if outcome == "rerun":  # by a plug-in: the last time counts
        return
    if outcome == "failed" and report.when != "call":
        outcome = "error"
    elif hasattr(report, "wasxfail") and outcome != "failed":
        outcome = "xfailed" if outcome == "skipped" else "xpassed"
    if outcome == "passed" and report.when != "call":
        return
    message = _text(report) if report.failed else None
    tell(
        test=report.nodeid,
        outcome=outcome,
        seconds=report.duration,
        last=report.when == "teardown" or report.when == "call",
        message=message,
    )


def pytest_internalerror(excrepr):
    """Tells what pytest itself failed at."""
    tell(test="(pytest)", outcome="error", message=str(excrepr))


def _text(report):
    try:
        return str(getattr(report, "longreprtext", None) or report.longrepr)
    except Exception as error:  # a project's own representation of a failure
        return f"{type(error).__name__} while the failure was described"
