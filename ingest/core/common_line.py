"""The fast path for common lines: no quotes, no escapes, nothing rare.

A test holds it equal to the strict parser; for every line that it cannot vouch for it says so.
"""

import re

from ingest.core.line_protocol import LARGEST_INT64, FieldValue

_NAME = r'[^\x00-\x20\x7f,=\\"\ud800-\udfff]++'
# So many digits fit 64 bits, whatever they are.
_NUMBER = r"[0-9]{1,18}+(?:i|(?:\.[0-9]*+)?)"
_FIELD = f"{_NAME}={_NUMBER}"
_COMMON = re.compile(
    f"((?!#){_NAME}(?:,{_NAME}={_NAME})*+) ({_FIELD}(?:,{_FIELD})*+)(?: ([0-9]{{1,19}}+))?"
)


def parse_common_line(line: str) -> tuple[str, dict[str, FieldValue], int | None] | None:
    """Head, fields and time of a line of the common kind; None says: ask the strict parser."""
    common = _COMMON.fullmatch(line)
    if not common:
        return None
    head, text, digits = common.groups()
    fields: dict[str, FieldValue] = {}
    for pair in text.split(","):
        name, _, value = pair.partition("=")
        fields[name] = int(value[:-1]) if value[-1] == "i" else float(value)
    if digits is None:
        return head, fields, None
    time = int(digits)
    return (head, fields, time) if time <= LARGEST_INT64 else None
