"""Reports that wait for the service."""

import logging
from collections import deque
from collections.abc import Callable

from enforcers.errors import ServerError

log = logging.getLogger(__name__)

# An hour of reports at the default rate; older ones are not needed.
MOST_WAITING = 120
# A slow service must not keep the loop from enforcing.
MOST_AT_ONCE = 5


class Outbox:
    """Delivers oldest first, keeps what could not be delivered, and counts what is lost."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._waiting: deque[bytes] = deque()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, report: bytes) -> None:
        """Queue a report; the oldest goes when there are too many."""
        self._waiting.append(report)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self.dropped += 1

    def flush(self) -> None:
        """Deliver some until the service fails; a report it will never take is dropped."""
        for _ in range(min(len(self._waiting), MOST_AT_ONCE)):
            try:
                self._send(self._waiting[0])
            except ServerError as error:
                if not error.is_final:
                    log.debug("report waits", extra={"error": str(error), "waiting": len(self)})
                    return
                log.warning("report dropped", extra={"error": str(error)})
                self.dropped += 1
            self._waiting.popleft()
