"""Verifies a patch by experiments: runs changed copies of the script and the project, and knows how each run must end."""
