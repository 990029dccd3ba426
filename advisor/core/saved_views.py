"""What of a page's address is a view that can be saved under a name."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import parse_qsl, urlencode

LONGEST_QUERY = 1000
MOST_VIEWS = 100
"""Of a member, and of those that an organisation shares."""
_PASSING = ("page", "part", "format", "view")
"""Where one is in a list, and how it is sent, is no part of a view."""


class ViewedPage(StrEnum):
    """The pages whose grouping, filters and range are in their address, by the route's name."""

    OVERVIEW = "overview"
    WORKLOADS = "workloads"
    STORAGE = "storage"
    NETWORKS = "networks"
    HOSTS = "hosts"
    RECOMMENDATIONS = "recommendations"


def saved_query(text: str) -> str:
    """The query as it is kept; ValueError with what is wrong with it.

    What is empty is left out, and what only says where one is in a list.
    """
    pairs = parse_qsl(text.removeprefix("?"), max_num_fields=100)
    found = urlencode([(name, value) for name, value in pairs if value and name not in _PASSING])
    if "%00" in found:
        raise ValueError("the address holds a character that cannot be stored")
    if len(found) > LONGEST_QUERY:
        raise ValueError(
            f"the address has {len(found)} characters after its page; a view has at most "
            f"{LONGEST_QUERY}"
        )
    return found
