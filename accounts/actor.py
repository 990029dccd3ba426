"""Who acts on an organisation, and what they may do there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accounts.errors import NotAllowed
from accounts.roles import Action, Role, allows

if TYPE_CHECKING:
    from accounts.models import Membership


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A member, or who types commands on the server; `address` is empty for the latter."""

    name: str
    role: Role
    user_id: int | None = None
    address: str = ""

    def may(self, action: Action) -> bool:
        return allows(self.role, action)

    def require(self, action: Action) -> None:
        """Raise NotAllowed unless the role allows it."""
        if not self.may(action):
            raise NotAllowed(f"{self.name} is {self.role} here and may not {action}")


_ADDRESS = ContextVar("sluice_address", default="")


@contextmanager
def acting_from(address: str) -> Iterator[None]:
    """Within, whoever acts does so from this network address."""
    before = _ADDRESS.set(address)
    try:
        yield
    finally:
        _ADDRESS.reset(before)


def member_actor(membership: Membership) -> Actor:
    """The member as the one who acts."""
    return Actor(
        name=membership.user.get_username(),
        role=Role(membership.role),
        user_id=membership.user_id,
        address=_ADDRESS.get(),
    )


def provider_actor(name: str) -> Actor:
    """What the login provider says about who logs in, as the one who acts."""
    return Actor(name=name, role=Role.OWNER, address=_ADDRESS.get())


COMMAND_LINE = Actor(name="command line", role=Role.OWNER)
"""Whoever can run `sluice` can write to the database too, so nothing is refused."""

SCHEDULER = Actor(name="Sluice", role=Role.OWNER)
"""What time, samples and newer advice change by themselves."""
