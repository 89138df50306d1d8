"""Starts pytest in the current folder with the plug-in beside this file, which the project cannot see."""

import importlib.util
import os
import sys

import acr_test_events  # also imports json, before a project's module of that name can be found


def narrow(args, select):
    """If tests are selected, collects only their files, unless a file of an id does not exist."""
    files = list(dict.fromkeys(test.split("::")[0] for test in select or ()))
    if acr_test_events.read_request("wide") or not files or not all(os.path.isfile(file) for file in files):
        return args
    return [arg for arg in args if arg.startswith("-") or not os.path.exists(arg.split("::")[0])] + files


def main():
    """Runs it."""
    folder, sys.path[0] = sys.path[0], os.getcwd()
    import pytest

    sys.path[0] = folder  # the plug-in imports nothing of the project
    import acr_pytest_report

    sys.path[0] = os.getcwd()
    acr_test_events.take_report_path()
    args = narrow(sys.argv[1:], acr_test_events.read_request("select")) + [
        "--maxfail=0",
        "--continue-on-collection-errors",
        "-p",
        "no:randomly",
    ]
    if importlib.util.find_spec("xdist"):
        args += ["-n", "0"]
    if importlib.util.find_spec("pytest_cov"):
        args += ["--no-cov"]
    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py")] + args
    sys.exit(pytest.main(args, plugins=[acr_pytest_report]))


main()
