"""Locks of whole files, which end with the process that holds them (flock(2))."""

import fcntl


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
