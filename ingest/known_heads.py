"""What a process knows of the heads of all senders, so that it reads their plain lines natively.

It is bounded by its size, because a head may be of any length and have any number of fields. Where
it is too much, the sender of whom most is known begins anew: no other one pays for a flood.
"""

from __future__ import annotations

from threading import Lock

from accounts.models import Organisation
from ingest.core.batch import FindHead, Rules
from ingest.known_series import KnownSeries
from ingest.plain_lines import PlainLines
from ingest.ready_rows import ReadBody

MOST_BYTES = 256 * 1024 * 1024
"""About a million heads, as collectors send them."""


class KnownHeads:
    """Heads by sender: an organisation, or one host of it."""

    def __init__(
        self, known: KnownSeries, find_head: FindHead, *, most_bytes: int = MOST_BYTES
    ) -> None:
        self._known, self._find_head, self._most_bytes = known, find_head, most_bytes
        self._senders: dict[tuple[int, str | None], PlainLines] = {}
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """About how much memory they take."""
        return sum(one.size_bytes for one in self._senders.values())

    def read(self, body: bytes, rules: Rules, organisation: Organisation) -> ReadBody:
        """The rows of a body."""
        lines = self._of_sender(rules, organisation)
        before = lines.size_bytes
        read = lines.read(body, rules, organisation)
        if lines.size_bytes > before:
            self._keep_bounded()
        return read

    def read_quickly(
        self, body: bytes, rules: Rules, organisation: Organisation
    ) -> ReadBody | None:
        """The same where it holds nobody up: what is new is left to `read`."""
        return self._of_sender(rules, organisation).read_quickly(body, rules, organisation)

    def _of_sender(self, rules: Rules, organisation: Organisation) -> PlainLines:
        key = organisation.pk, rules.only_host
        with self._lock:
            if key not in self._senders:
                self._senders[key] = PlainLines(self._known, self._find_head)
            return self._senders[key]

    def _keep_bounded(self) -> None:
        with self._lock:
            if self.size_bytes > self._most_bytes:
                del self._senders[max(self._senders, key=lambda k: self._senders[k].size_bytes)]
