"""Reports of version 1, in which an agent did not say what its mechanisms recognise and hold.

Such agents go on working with a newer service: what they could recognise is known, for it will
not change any more. What they hold is left open.
"""

from typing import Any

_SUPPORT_KEYS = {"mechanism", "supported", "reason"}
_RECOGNISED = {
    "tc_htb": {"units": ["bits_per_s"], "selectors": ["vnic", "source_address"]},
    "cgroup_io": {"units": ["iops", "bytes_per_s"], "selectors": ["cgroup"]},
}


def upgraded_report(plain: Any, *, version: int) -> Any:
    """The parsed report as one of this version; anything but a report of version 1 as it is."""
    if not isinstance(plain, dict) or type(plain.get("schema_version")) is not int:
        return plain
    support = plain.get("support")
    if plain["schema_version"] != 1 or not isinstance(support, list):
        return plain
    return {
        **plain,
        "schema_version": version,
        "support": [upgraded_support(item) for item in support],
    }


def upgraded_support(item: Any) -> Any:
    """One answer of version 1 with what its mechanism was able to recognise."""
    if not isinstance(item, dict) or set(item) != _SUPPORT_KEYS:
        return item
    recognised = _RECOGNISED.get(str(item["mechanism"]), {"units": [], "selectors": []})
    return {**item, **recognised, "holds": None}
