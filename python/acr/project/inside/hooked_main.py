"""Runs a project's own test script or module, and reports unittest's results: `hooked_main.py [-m MODULE | FILE]
ARG...`. As sitecustomize, it does so in every Python that a command starts.
"""

import os
import sys


def install():
    """Hooks unittest, from outside the tree."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, folder)
    try:
        import acr_test_events
        import unittest_report
    finally:
        sys.path.remove(folder)
    path = acr_test_events.take_report_path() if __name__ == "__main__" else os.environ.get("ACR_TESTS_REPORT")
    if path:
        unittest_report.install(path)


def main():
    """Runs it."""
    import runpy

    install()
    del sys.argv[0]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
elif "unittest" in " ".join(sys.argv) or os.environ.get("ACR_TESTS_REPORT"):
    install()
