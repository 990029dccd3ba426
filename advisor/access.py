"""Permission to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounts.actor import Actor, member_actor
from accounts.models import Membership, Organisation
from advisor.errors import DecisionRefused

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


def require_operator(user: AbstractBaseUser, organisation: Organisation) -> Actor:
    """The user as one who decides; DecisionRefused unless their role allows that."""
    found = Membership.objects.filter(user_id=user.pk, organisation=organisation)
    membership = found.select_related("user").first()
    if membership is None or not membership.may_operate:
        raise DecisionRefused(
            f"{user.get_username()} may not decide for {organisation}; "
            "ask an admin for the operator role"
        )
    return member_actor(membership)
