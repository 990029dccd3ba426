"""The short way for the common line: no quotes, no escapes, no rarities.

A test holds it equal to the strict parser; for every line that it cannot vouch for it says so.
"""

from ingest.core.line_protocol import LARGEST_INT64, FieldValue, parse_float

# So many digits fit 64 bits, whatever they are.
_SAFE_DIGITS = 18


def parse_common_line(line: str) -> tuple[str, dict[str, FieldValue], int | None] | None:
    """Head, fields and time of a line of the common kind; None says: ask the strict parser."""
    if "\\" in line or '"' in line or not (line.isascii() and line.isprintable()):
        return None
    parts = line.split(" ")
    if len(parts) == 3:
        time = _common_time(parts[2])
        if time is None:
            return None
    elif len(parts) == 2:
        time = None
    else:
        return None
    fields: dict[str, FieldValue] = {}
    for pair in parts[1].split(","):
        name, _, value = pair.partition("=")
        digits = value[:-1]
        if value[-1:] == "i" and digits.isdigit() and len(digits) <= _SAFE_DIGITS:
            fields[name] = int(digits)
        else:
            number = parse_float(value)
            if number is None:
                return None
            fields[name] = number
    return None if "" in fields else (parts[0], fields, time)


def _common_time(digits: str) -> int | None:
    if not digits.isdigit() or len(digits) > len(str(LARGEST_INT64)):
        return None
    time = int(digits)
    return time if time <= LARGEST_INT64 else None
