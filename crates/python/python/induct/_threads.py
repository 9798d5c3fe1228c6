"""How many threads a call may use."""

from __future__ import annotations

import operator
import threading

from ._errors import InputError

MOST = 1024


def count_threads(threads: int | None) -> int:
    """The number for the native part, where 0 stands for all cores. Without one: all cores in the main thread, and one
    in others, which usually come in groups."""
    if threads is None:
        return 0 if threading.current_thread() is threading.main_thread() else 1
    try:
        number = operator.index(threads)
    except TypeError:
        number = 0
    if isinstance(threads, bool) or not 1 <= number <= MOST:
        raise InputError(f"threads = {threads!r} is not allowed: a whole number from 1 to {MOST}")
    return number
