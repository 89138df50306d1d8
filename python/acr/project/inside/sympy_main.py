"""Runs sympy's own test runner, and reports how each test ended: `sympy_main.py bin/test ARG...`."""

import os
import sys

import acr_test_events  # also imports json, before a project's module of that name can be found

OUTCOMES = {
    "test_pass": "passed",
    "test_xfail": "xfailed",
    "test_xpass": "failed",
    "test_skip": "skipped",
    "test_fail": "failed",
    "test_exception": "error",
}


def install(reporter, report, tracer, describe):
    """Wraps the methods of sympy's reporter class."""
    at = {"file": "", "test": None}
    entering_file, entering = reporter.entering_filename, reporter.entering_test
    import_error = reporter.import_error

    def enter_file(self, filename, n):
        at["file"] = os.path.relpath(filename)
        return entering_file(self, filename, n)

    def enter(self, function):
        at["test"] = at["file"] + ":" + function.__name__
        report.tell(start=at["test"])
        done = entering(self, function)
        if tracer is not None:
            tracer.begin()
        return done

    def fail_import(self, filename, exc_info):
        report.tell(test=os.path.relpath(filename), outcome="error", message=describe(exc_info))
        return import_error(self, filename, exc_info)

    def wrap(name, outcome):
        method = getattr(reporter, name)

        def wrapper(self, *args):
            lines = tracer.end() if at["test"] is not None and tracer is not None else None
            if at["test"] is not None:
                failed = name in ("test_fail", "test_exception")
                message = describe(args[0]) if failed and args else None
                report.tell(test=at["test"], outcome=outcome, message=message, last=True)
            if lines is not None:
                report.tell(lines=lines, of=at["test"])
            at["test"] = None
            return method(self, *args)

        setattr(reporter, name, wrapper)

    reporter.entering_filename, reporter.entering_test = enter_file, enter
    reporter.import_error = fail_import
    for name, outcome in OUTCOMES.items():
        wrap(name, outcome)


def sort_files(tests, order):
    """Makes files of `order` run first, by replacing the order by name in sympy's class of tests."""
    place = {file: at for at, file in enumerate(order)}
    test = tests.test

    class Files(list):
        def sort(self):
            super().sort(key=lambda path: (place.get(os.path.relpath(path), len(place)), path))

    def wrapper(self, *args, **options):
        self._testfiles = Files(self._testfiles)
        return test(self, *args, **options)

    tests.test = wrapper


def main():
    """Runs it."""
    import runpy

    import unittest_report

    report, tracer = acr_test_events.Report(acr_test_events.take_report_path()), acr_test_events.load_tracer()
    sys.path[0] = os.getcwd()
    try:
        from sympy.testing import runtests
    except ImportError:  # before 1.6
        from sympy.utilities import runtests
    install(runtests.PyTestReporter, report, tracer, unittest_report.describe)
    sort_files(runtests.SymPyTests, acr_test_events.read_request("order") or ())
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


main()
