"""Runs unittest's tests: `unittest_main.py NAME...`, or `unittest_main.py discover START PATTERN TOP`."""

import os
import sys

import acr_test_events  # also imports json, before a project's module of that name can be found

FAILED = "unittest.loader._FailedTest."


def find(unittest, args):
    """The tests that the arguments name."""
    loader = unittest.TestLoader()
    if args and args[0] != "discover":
        return loader.loadTestsFromNames(args)
    start, pattern, top = (args[1:] + ["", "", ""])[:3]
    return loader.discover(start or ".", pattern or "test*.py", top or None)


def module_of(test):
    """The name of a test's module; for unittest's placeholder of a failed import, the name of the imported module."""
    return test.id()[len(FAILED) :] if type(test).__name__ == "_FailedTest" else type(test).__module__


def place_of(order):
    """A sort key that orders tests by their files."""
    names = {os.path.splitext(file)[0].replace("/", "."): at for at, file in enumerate(order or ())}

    def place(test):
        module = module_of(test)
        whole = [at for name, at in names.items() if name == module or name.endswith("." + module)]
        return min(whole) if whole else len(names)

    return place


def is_wanted(test, name, wanted):
    """Whether to run a test: it is selected, or its module, or the module of a selected test, cannot be imported."""
    if name in wanted or FAILED + module_of(test) in wanted:
        return True
    return type(test).__name__ == "_FailedTest" and any(other.startswith(module_of(test) + ".") for other in wanted)


def main():
    """Runs them."""
    folder, sys.path[0] = sys.path[0], os.getcwd()
    import unittest

    sys.path[0] = folder  # the report imports nothing of the project
    import unittest_report

    report = unittest_report.install(acr_test_events.take_report_path())
    sys.path[0] = os.getcwd()
    args, select = sys.argv[1:], acr_test_events.read_request("select")
    order = acr_test_events.read_request("order")
    sys.argv[:] = ["python -m unittest"]
    tests = list(unittest_report.flatten(find(unittest, args)))
    if select is not None:
        wanted = set(select)
        tests = [test for test in tests if is_wanted(test, unittest_report.identify(test), wanted)]
    if order:
        tests.sort(key=place_of(order))
    report.tell(collected=[unittest_report.identify(test) for test in tests])
    result = unittest.TextTestRunner(verbosity=1).run(unittest.TestSuite(tests))
    sys.exit(not result.wasSuccessful())


main()
