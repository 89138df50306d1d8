"""The pytest plug-in that reports how each test ended, one line of JSON for each event."""

import os

import acr_test_events
import pytest

_tracer = acr_test_events.load_tracer()
tell = acr_test_events.Report(os.environ.get("ACR_TESTS_REPORT"), os.getpid()).tell

# Options of plug-ins that a project's settings may name although they are not installed here. Behind a name: "=" a
# value, "*" a value each time, "?" perhaps one.
MISSING = {
    "pytest_cov": "--cov? --cov-report* --cov-config= --cov-branch --no-cov --no-cov-on-fail --cov-fail-under= --cov-append "
    "--cov-context=",
    "xdist": "-n= --numprocesses= --dist= --maxprocesses=",
    "pytest_timeout": "--timeout= --timeout-method= --timeout_method=",
    "pytest_rerunfailures": "--reruns= --reruns-delay= --only-rerun*",
    "pytest_benchmark": "--benchmark-disable --benchmark-skip --benchmark-sort= --benchmark-columns= --benchmark-group-by= "
    "--benchmark-autosave",
    "pytest_randomly": "--randomly-seed= --randomly-dont-reorganize",
    "pytest_mypy": "--mypy --mypy-ignore-missing-imports",
    "pytest_black": "--black",
    "pytest_flake8": "--flake8",
    "pytest_asyncio": "--asyncio-mode=",
}
# In Python's own style, a traceback takes a fraction of the time that pytest needs to quote the source of each function.
MAX_QUOTED = 20  # number of failures whose tracebacks quote whole functions
_failures = []  # ids of failing tests
KINDS = {"?": {"nargs": "?", "action": "append", "const": True}, "*": {"action": "append"}, "=": {"action": "store"}}


def pytest_addoption(parser):
    from importlib.util import find_spec

    group = parser.getgroup("not installed")
    for module, options in MISSING.items():
        for at, option in enumerate(() if find_spec(module) else options.split()):
            name, how = option.rstrip("?*="), KINDS.get(option[-1], {"action": "store_true"})
            add = group.addoption if name.startswith("--") else group._addoption
            add(name, dest=f"acr_{module}_{at}", help=f"of {module}", **how)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keeps only the requested tests, and moves those nearest to a patch to the front."""
    select, order = acr_test_events.read_request("select"), acr_test_events.read_request("order")
    if select is not None:
        wanted = set(select)
        names = [{item.nodeid, item.nodeid.split("::")[0]} for item in items]  # the id of a file selects its tests
        left = [item for item, own in zip(items, names) if wanted.isdisjoint(own)]
        items[:] = [item for item, own in zip(items, names) if not wanted.isdisjoint(own)]
        if left:
            config.hook.pytest_deselected(items=left)
    if order:
        place = {file: at for at, file in enumerate(order)}
        items.sort(key=lambda item: place.get(item.nodeid.split("::")[0], len(place)))


def pytest_collection_finish(session):
    """Reports which tests there are."""
    tell(collected=[item.nodeid for item in session.items])


def pytest_collectreport(report):
    """Reports files that cannot be collected."""
    if report.failed:
        tell(test=report.nodeid, outcome="error", message=_text_of_report(report))
    elif report.skipped and "::" not in report.nodeid:
        tell(test=report.nodeid, outcome="skipped")


def pytest_runtest_logstart(nodeid):
    """Reports which test is running."""
    tell(start=nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Chooses the style of tracebacks, and reports which lines a test ran."""
    if len(_failures) > MAX_QUOTED and item.config.option.tbstyle in ("auto", "long", "short"):
        item.config.option.tbstyle = "native"
    if _tracer is None:
        yield
        return
    _tracer.begin()
    try:
        yield
    finally:
        tell(lines=_tracer.end(), of=item.nodeid)


def pytest_runtest_logreport(report):
    """Reports how a test's set-up, call or tear-down ended."""
    outcome = report.outcome
    if outcome == "rerun":  # a plug-in reruns the test: the last run counts
        return
    if outcome == "failed" and report.when != "call":
        outcome = "error"
    elif hasattr(report, "wasxfail") and outcome != "failed":
        outcome = "xfailed" if outcome == "skipped" else "xpassed"
    if outcome == "passed" and report.when != "call":
        return
    message = _text_of_report(report) if report.failed else None
    _failures.extend([report.nodeid] * report.failed)
    tell(
        test=report.nodeid,
        outcome=outcome,
        seconds=report.duration,
        last=report.when == "teardown" or report.when == "call",
        message=message,
    )


def pytest_internalerror(excrepr):
    """Reports an error of pytest itself."""
    tell(test="(pytest)", outcome="error", message=str(excrepr))


def _text_of_report(report):
    try:
        return str(getattr(report, "longreprtext", None) or report.longrepr)
    except Exception as error:  # the project's code that describes the failure may raise
        return f"{type(error).__name__} while describing the failure"
