"""Ending in good order when the user or the system asks for it."""

import signal

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt_on_stop_signals() -> None:
    """Let SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, once.

    The program unwinds to where its children are stopped; a second signal does not cut that short.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: object) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
