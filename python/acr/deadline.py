"""What ends a job that takes too long; the host raises it (runtime/py/interpreter_thread.c)."""


class Deadline(BaseException):
    """Raised in a job whose deadline has passed. No Exception, so that `except Exception` lets it through."""
