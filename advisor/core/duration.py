"""Durations as text."""

from datetime import timedelta

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def duration_text(length: timedelta) -> str:
    """A length of time in one or two units: `42 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    seconds = max(0, round(length.total_seconds()))
    if seconds < 2 * _MINUTE_S:
        return f"{seconds} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min"
    if seconds < _DAY_S:
        return _two(seconds, _HOUR_S, "h", _MINUTE_S, "min")
    return _two(seconds, _DAY_S, "d", _HOUR_S, "h")


def _two(seconds: int, large_s: int, large: str, small_s: int, small: str) -> str:
    count, rest = divmod(seconds, large_s)
    remainder = rest // small_s
    return f"{count} {large} {remainder} {small}" if remainder else f"{count} {large}"
