from accounts.models.organisation import (
    Membership,
    Organisation,
    Role,
)
from accounts.models.token import Scope, Token

__all__ = [
    "Membership",
    "Organisation",
    "Role",
    "Scope",
    "Token",
]
