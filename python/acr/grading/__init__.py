"""Grades the log of a task's tests by the rules of version 4 or 5 of SWE-bench's own package.

All functions are pure functions of text: `parsers.py` finds tests and outcomes in a log, `rules.py` compares them with
what the task expects, `reports.py` summarises a run.
"""
