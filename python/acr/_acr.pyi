"""The C module that the host offers to its embedded interpreter; made in runtime/py/module.c."""

version: str
"""The program's version."""

class Deadline(BaseException):
    """Raised in a job whose deadline has passed. No Exception, so that `except Exception` lets it through."""

def calls() -> tuple[tuple[str, tuple[tuple[str, str], ...], str], ...]:
    """The registered search calls: (name, ((parameter, "str" or "int"), ...), summary), in the order shown."""
