"""What is refused about access.

AccountsError
├── NotFound           a named row does not exist, or belongs to somebody else
└── AlreadyExists      a name is taken
"""


class AccountsError(Exception):
    """A refusal whose text says what, which, and what to do."""


class NotFound(AccountsError):
    pass


class AlreadyExists(AccountsError):
    pass
