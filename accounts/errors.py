"""Errors about access.

AccountsError
├── NotFound           a named row does not exist, or belongs to somebody else
├── AlreadyExists      a name is taken
├── NotAllowed         the role of who asks does not allow it
├── LastOwner          an organisation would be left without an owner
├── InvitationRefused  an invitation is used, expired, withdrawn or not known
├── JoinRefused        a join token is used up, expired, revoked or not known, or fits no such host
└── TokenRefused       the scope of a token does not fit what it is bound to
"""


class AccountsError(Exception):
    """Base of these errors; the text says what, which, and what to do."""


class NotFound(AccountsError):
    pass


class AlreadyExists(AccountsError):
    pass


class NotAllowed(AccountsError):
    pass


class LastOwner(AccountsError):
    pass


class InvitationRefused(AccountsError):
    pass


class JoinRefused(AccountsError):
    pass


class TokenRefused(AccountsError):
    pass
