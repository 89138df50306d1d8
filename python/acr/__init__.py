"""The part of the program that is written in Python. The program's embedded interpreter imports it; it is not a script."""
