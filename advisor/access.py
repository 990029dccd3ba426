"""Permission to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounts.models import Membership, Organisation
from advisor.errors import DecisionRefused

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


def require_operator(user: AbstractBaseUser, organisation: Organisation) -> None:
    """Raise DecisionRefused unless the user is an operator or admin of the organisation."""
    membership = Membership.objects.filter(user_id=user.pk, organisation=organisation).first()
    if membership is None or not membership.may_operate:
        raise DecisionRefused(
            f"{user.get_username()} may not decide for {organisation}; "
            "ask an admin for the operator role"
        )
