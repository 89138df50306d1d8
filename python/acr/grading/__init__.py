"""Grades the log of a task's tests as SWE-bench's own package does, by its version 4 or 5.

Everything here is a pure function of text: `parsers.py` finds tests and their outcomes in a log, `rules.py` holds them
against what a task expects, `reports.py` sums up a run.
"""
