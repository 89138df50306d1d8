"""Finds out from a project's files how to run its tests; imports no code of the project."""
