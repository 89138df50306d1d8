"""Makes unittest's result classes, and all classes derived from them, report how each test ended."""

import functools
import threading
import traceback
import unittest

import acr_test_events

MESSAGE_CHARACTERS = 6000


def describe(err):
    """An exception as text."""
    if not isinstance(err, tuple):
        return str(err)
    try:
        return "".join(traceback.format_exception(*err))[-MESSAGE_CHARACTERS:]
    except Exception:  # an exception that cannot be shown
        return getattr(err[0], "__name__", "an exception")


def install(path):
    """Wraps the methods of unittest.TestResult."""
    report, tracer, is_outermost = acr_test_events.Report(path), acr_test_events.load_tracer(), watch_runs()
    outcomes = {
        "addSuccess": "passed",
        "addError": "error",
        "addFailure": "failed",
        "addSkip": "skipped",
        "addExpectedFailure": "xfailed",
        "addUnexpectedSuccess": "failed",
    }

    def wrap(name, outcome):
        method = getattr(unittest.TestResult, name)

        @functools.wraps(method)
        def wrapper(self, test, *rest):
            if is_outermost(test):
                failed = outcome in ("failed", "error")
                message = describe(rest[0]) if failed and rest else None
                report.tell(test=identify(test), outcome=outcome, message=message, last=True)
            return method(self, test, *rest)

        setattr(unittest.TestResult, name, wrapper)

    for name, outcome in outcomes.items():
        wrap(name, outcome)
    start, subtest = unittest.TestResult.startTest, unittest.TestResult.addSubTest
    stop = unittest.TestResult.stopTest

    def start_test(self, test):
        if is_outermost(test):
            report.tell(start=identify(test))
            if tracer is not None:
                tracer.begin()
        return start(self, test)

    def stop_test(self, test):
        if is_outermost(test) and tracer is not None:
            report.tell(lines=tracer.end(), of=identify(test))
        return stop(self, test)

    def add_subtest(self, test, sub, err):
        if err is not None and is_outermost(test):
            failed = issubclass(err[0], test.failureException)
            message = f"{sub}\n{describe(err)}"
            report.tell(test=identify(test), outcome="failed" if failed else "error", message=message)
        return subtest(self, test, sub, err)

    unittest.TestResult.startTest, unittest.TestResult.addSubTest = start_test, add_subtest
    unittest.TestResult.stopTest = stop_test
    return report


def watch_runs():
    """Returns a function that tells whether a test is run by another test, and is therefore a part of it."""
    running, run = threading.local(), unittest.TestCase.run  # "tests": the nested tests that the thread runs

    @functools.wraps(run)
    def run_test(self, result=None):
        tests = running.__dict__.setdefault("tests", [])
        tests.append(self)
        try:
            return run(self, result)
        finally:
            tests.pop()

    def is_outermost(test):
        tests = getattr(running, "tests", None)  # a subtest's id begins with its test's
        return not tests or (len(tests) == 1 and identify(test).startswith(identify(tests[0])))

    unittest.TestCase.run = run_test
    return is_outermost


def identify(test):
    """A test's id, or its text if it has no id."""
    try:
        return str(test.id())
    except Exception:  # the project's own kind of test class
        return str(test)


def flatten(suite):
    """The tests of a suite, in order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test
