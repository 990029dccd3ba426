"""What a channel is to the rest of the product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from advisor.notifications.message import Letter, Message


class NotSent(Exception):  # it says what became of a message
    """A message was not taken; it is not tried again if `is_permanent`."""

    def __init__(self, reason: str, *, is_permanent: bool = False) -> None:
        super().__init__(reason)
        self.is_permanent = is_permanent


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where to, and what signs it; `letter` is what goes by mail beside the message."""

    address: str = field(repr=False)
    secret: str = field(default="", repr=False)
    letter: Letter | None = None


class Channel(Protocol):
    """One way to send."""

    def problem(self, address: str) -> str:
        """What is wrong with an address; empty if nothing is."""

    def send(self, place: Place, message: Message, key: UUID) -> None:
        """Send it once; `key` is the same each time it is sent again. Raises NotSent."""
