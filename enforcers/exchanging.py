"""The threads that tell the service what this host does on shared datastores.

The loop that follows devices never waits for them, nor does the agent's round: a service that is
slow, away or older only means that there is no answer.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

from enforcers.errors import EnforcerError, ServerError
from enforcers.exchange import (
    DatastoreLoad,
    HostPart,
    decode_load,
    encode_exchange,
    exchange_of,
)
from enforcers.joint_post import Box, HeardT, Letter, ToldT
from enforcers.limit_exchange import (
    LimitsGranted,
    LimitUse,
    decode_granted,
    encode_told,
    told_of,
)

log = logging.getLogger(__name__)

SILENT_S = 60.0
"""A service that refuses, such as one too old, is asked again after so long."""
_ENDS_WITHIN_S = 1.0

Ask = Callable[[str, ToldT], HeardT]
"""The datastore's name and what is told; raises EnforcerError if there is no answer."""


class Exchanges(Protocol):
    """The service, as far as hosts hear of each other through it."""

    def exchange(self, told: bytes) -> bytes:
        """Tell figures and be answered. Raises ServerError."""
        ...

    def share_limits(self, told: bytes) -> bytes:
        """Tell of limits and be granted parts of them. Raises ServerError."""
        ...


def asking(
    service: Exchanges, *, host: str, now: Callable[[], datetime]
) -> Ask[HostPart, DatastoreLoad]:
    """Asks the service; `now` is the time of day, by which it orders what this host says."""

    def ask(resource: str, part: HostPart) -> DatastoreLoad:
        told = exchange_of(part, host=host, resource=resource, period_end=now())
        return decode_load(service.exchange(encode_exchange(told)))

    return ask


def asking_limits(
    service: Exchanges, *, host: str, now: Callable[[], datetime]
) -> Ask[tuple[LimitUse, ...], LimitsGranted]:
    """As `asking`, of limits."""

    def ask(resource: str, uses: tuple[LimitUse, ...]) -> LimitsGranted:
        told = told_of(uses, host=host, resource=resource, period_end=now())
        return decode_granted(service.share_limits(encode_told(told)))

    return ask


@contextmanager
def exchanging(box: Box[ToldT, HeardT], ask: Ask[ToldT, HeardT]) -> Iterator[None]:
    """Tell and be answered until the end of the block; what is under way then is given up."""
    thread = threading.Thread(target=_repeat, args=(box, ask), name="exchanging", daemon=True)
    thread.start()
    try:
        yield
    finally:
        box.close()
        thread.join(_ENDS_WITHIN_S)


def _repeat(box: Box[ToldT, HeardT], ask: Ask[ToldT, HeardT]) -> None:
    silent_until_s: dict[str, float] = {}
    while not box.is_closed:
        for letter in box.fetch():
            if time.monotonic() < silent_until_s.get(letter.resource, 0.0):
                continue
            error = _tell(box, ask, letter)
            if isinstance(error, ServerError) and not error.is_final:
                # It is away for all of them; what is late then is of no use.
                break
            if error is not None:
                silent_until_s[letter.resource] = time.monotonic() + SILENT_S


def _tell(
    box: Box[ToldT, HeardT], ask: Ask[ToldT, HeardT], letter: Letter[ToldT]
) -> Exception | None:
    try:
        box.answer(letter, ask(letter.resource, letter.told))
    except EnforcerError as error:
        log.debug("not exchanged", extra={"resource": letter.resource, "error": str(error)})
        return error
    except Exception as error:
        # One bad answer must not end the exchange.
        log.exception("exchange failed")
        return error
    return None
