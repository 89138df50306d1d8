"""A verdict by experiment: changed copies of the script and of the project, and what their runs must come to."""
