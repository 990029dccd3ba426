"""Reads and writes the texts of cgroup v2 io control files, one device at a time."""

from collections.abc import Mapping

UNLIMITED = "max"
IO_MAX_KEYS = ("rbps", "wbps", "riops", "wiops")
WEIGHT_FOLLOWS_DEFAULT = "default"


def parse_io_max(text: str, number: str) -> dict[str, str]:
    """The four limits of a device; a device that is not listed has none."""
    limits = dict.fromkeys(IO_MAX_KEYS, UNLIMITED)
    limits.update(
        {key: value for key, value in _pairs(text, number).items() if key in IO_MAX_KEYS}
    )
    return limits


def format_io_max(limits: Mapping[str, str]) -> str:
    """Limits in the order the kernel prints them; only the given ones are changed by a write."""
    return " ".join(f"{key}={limits[key]}" for key in IO_MAX_KEYS if key in limits)


def parse_weight(text: str, number: str) -> str:
    """A device's own weight, or `default` if it follows the group's."""
    return line_of(text, number) or WEIGHT_FOLLOWS_DEFAULT


def parse_io_stat(text: str, number: str) -> dict[str, int]:
    """The counters of a device; empty if it has seen no I/O of the group."""
    return {key: int(value) for key, value in _pairs(text, number).items() if value.isdecimal()}


def is_iocost_enabled(text: str, number: str) -> bool:
    """Whether `io.cost.qos` turns the weight controller on for a device."""
    return _pairs(text, number).get("enable") == "1"


def line_of(text: str, number: str) -> str | None:
    """What is said of a device, without its number; None if it is not listed."""
    for line in text.splitlines():
        first, _, rest = line.partition(" ")
        if first == number:
            return rest.strip()
    return None


def _pairs(text: str, number: str) -> dict[str, str]:
    line = line_of(text, number) or ""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)
