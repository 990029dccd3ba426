"""A file that is cut off by accident is not taken for the truth."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.decisions.policy_file.decide.difference import Change, Present, removable, removals
from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.errors import InventoryError


def require_leave(wanted: PolicyFile, present: Present, changes: Sequence[Change]) -> None:
    """Refuse what removes more than half of all that could be removed."""
    gone, all_of_them = removals(changes), removable(wanted, present)
    if 2 * gone > all_of_them:
        raise InventoryError(
            f"the file removes {gone} of {all_of_them} things; nothing was done. If that is "
            "meant, add --allow-removals"
        )
