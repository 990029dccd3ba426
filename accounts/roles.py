"""Roles, and the one table of what each may do."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from django.db.models import TextChoices


class Role(TextChoices):
    """What a member is in an organisation; each role may also do what those before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    OWNER = "owner"


class Action(StrEnum):
    """What people do with the rows of their organisation."""

    DECIDE = "decide"
    MANAGE_MEMBERS = "manage members"
    MANAGE_TOKENS = "manage tokens"
    MANAGE_LADDER = "set the rules of the ladder"
    CARRY_OUT = "have workloads moved"
    MANAGE_NOTIFICATIONS = "manage notifications"
    MANAGE_SOURCES = "manage sources"
    MANAGE_OWNERS = "manage owners"
    EXPORT_ORGANISATION = "export the organisation"
    DELETE_ORGANISATION = "delete the organisation"


LEAST_ROLE: Mapping[Action, Role] = {
    Action.DECIDE: Role.OPERATOR,
    Action.MANAGE_MEMBERS: Role.ADMIN,
    Action.MANAGE_TOKENS: Role.ADMIN,
    Action.MANAGE_LADDER: Role.ADMIN,
    Action.CARRY_OUT: Role.ADMIN,
    Action.MANAGE_NOTIFICATIONS: Role.ADMIN,
    Action.MANAGE_SOURCES: Role.ADMIN,
    Action.MANAGE_OWNERS: Role.OWNER,
    Action.EXPORT_ORGANISATION: Role.OWNER,
    Action.DELETE_ORGANISATION: Role.OWNER,
}
"""The role that an action takes."""

_ORDER = {role: place for place, role in enumerate(Role)}


def allows(role: str, action: Action) -> bool:
    """Whether a member of this role may do it."""
    return _ORDER[Role(role)] >= _ORDER[LEAST_ROLE[action]]
