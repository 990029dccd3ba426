"""What each role may do."""

from __future__ import annotations

import pytest

from accounts.roles import Action, Role, allows

ALLOWED = {
    Role.VIEWER: set(),
    Role.OPERATOR: {Action.DECIDE},
    Role.ADMIN: {
        Action.DECIDE,
        Action.MANAGE_MEMBERS, Action.MANAGE_TOKENS, Action.MANAGE_NOTIFICATIONS,
        Action.MANAGE_LADDER, Action.CARRY_OUT, Action.MANAGE_SOURCES,
    },
    Role.OWNER: set(Action),
}  # fmt: skip


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("action", Action)
def test_role_allows_what_the_table_says(role: Role, action: Action) -> None:
    assert allows(role, action) is (action in ALLOWED[role])


def test_unknown_role_is_an_error_and_no_permission() -> None:
    with pytest.raises(ValueError, match="king"):
        allows("king", Action.DECIDE)
