"""A process that root started becomes another user, once it has what takes root."""

from __future__ import annotations

import os
import signal

from appliance.embedded.parent_death import ends_with
from appliance.embedded.service_user import user_of_name


def become(name: str) -> None:
    """Be this user from here on, for good, in its own group alone.

    Raises PermissionError for who is not root, and LookupError where there is no such user.
    """
    user = user_of_name(name)
    if user is None:
        raise LookupError(f"there is no user {name}")
    parent = os.getppid()
    os.setgroups([])
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)
    ends_with(parent, signal.SIGTERM)()
