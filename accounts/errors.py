"""Errors about access.

AccountsError
├── NotFound           a named row does not exist, or belongs to somebody else
└── AlreadyExists      a name is taken
"""


class AccountsError(Exception):
    """Base of these errors; the text says what, which, and what to do."""


class NotFound(AccountsError):
    pass


class AlreadyExists(AccountsError):
    pass
