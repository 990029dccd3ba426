"""How long names may be, in characters: what ingest accepts, and so what every column holds.

A name that is made of others has room for the longest of each.
"""

from __future__ import annotations

LONGEST_HOST_NAME = 253
"""The longest name in DNS."""

LONGEST_DEVICE = 255
"""The longest name of a file, and Linux lists each device as one."""

LONGEST_PATH = 1024
"""Of a cgroup."""

LONGEST_RESOURCE_NAME = LONGEST_HOST_NAME + len("/") + LONGEST_DEVICE
"""A resource that was found is called like its host and device."""

LONGEST_STATED_NAME = 200
"""Of a workload, a virtual disk and a maintenance window, which people name."""

LONGEST_TOKEN_NAME = 100

MOST_TAGS_BYTES = 2048
"""The tags are the key of a unique index, of which PostgreSQL takes no more than 2704 bytes."""


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and an ellipsis where it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
