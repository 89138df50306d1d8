"""The part of the program that is written in Python: run inside it by an embedded interpreter, never as a script."""
