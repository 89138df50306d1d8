"""The exception that ends a job which takes too long; the host raises it (runtime/py/interpreter_thread.c)."""


class Deadline(BaseException):
    """Raised in a job whose deadline has passed. It derives from BaseException, so `except Exception` does not catch it."""
