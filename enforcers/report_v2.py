"""Reports of version 2, in which an allocation had one outcome for all its controls."""

from typing import Any


def upgraded_report(plain: Any, *, version: int) -> Any:
    """The parsed report as one of this version; anything but a report of version 2 as it is.

    What became of each control is left open.
    """
    if not isinstance(plain, dict) or type(plain.get("schema_version")) is not int:
        return plain
    allocations = plain.get("allocations")
    if plain["schema_version"] != 2 or not isinstance(allocations, list):
        return plain
    return {
        **plain,
        "schema_version": version,
        "allocations": [_upgraded(item) for item in allocations],
    }


def _upgraded(item: Any) -> Any:
    is_of_version_2 = isinstance(item, dict) and "controls" not in item
    return {**item, "controls": None} if is_of_version_2 else item
