"""Starts pytest in the current folder with the plug-in beside this file, which no file of the project sees."""

import importlib.util
import json
import os
import sys


def load_plugin(folder):
    """The plug-in, imported from outside the tree."""
    spec = importlib.util.spec_from_file_location("acr_pytest_report", os.path.join(folder, "pytest_report.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def narrow(args, folder):
    """With tests that are selected only their files are collected, if they are where their ids say."""
    with open(os.path.join(folder, "select"), encoding="utf-8") as file:
        select = json.load(file)
    files = list(dict.fromkeys(test.split("::")[0] for test in select or ()))
    if not files or not all(os.path.isfile(file) for file in files):
        return args
    return [arg for arg in args if arg.startswith("-") or not os.path.exists(arg.split("::")[0])] + files


def main():
    """Runs it."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.getcwd()
    import pytest

    sys.path[0] = folder  # the plug-in imports nothing of the project
    plugin = load_plugin(folder)
    sys.path[0] = os.getcwd()
    for name in ("ACR_TESTS", "ACR_TESTS_REPORT"):
        os.environ.pop(name, None)
    args = narrow(sys.argv[1:], folder) + ["--maxfail=0", "--continue-on-collection-errors", "-p", "no:randomly"]
    if importlib.util.find_spec("xdist"):
        args += ["-n", "0"]
    if importlib.util.find_spec("pytest_cov"):
        args += ["--no-cov"]
    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py")] + args
    sys.exit(pytest.main(args, plugins=[plugin]))


main()
