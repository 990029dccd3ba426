"""Lines of line protocol: names as a host spells them, whatever characters they hold."""

import re

LARGEST_INTEGER = 2**63 - 1
LONGEST_VALUE = 1000
_SPECIAL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\u2028\u2029 ,=]")
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\u2028\u2029]")
_SHORT = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f"}


def escaped(name: str) -> str:
    """A tag's value: control characters as Telegraf writes them, bytes that are no UTF-8 as \\xNN.

    A backslash at the end would escape what follows, so it is left out.
    """
    if _SPECIAL.search(name):
        name = _SPECIAL.sub(_escape, name)
    return name.rstrip("\\") if name.endswith("\\") else name


def head(measurement: str, host: str, **tags: str | None) -> str:
    """Measurement and tags, `host` first; tags without a value are left out."""
    text = f"{measurement},host={escaped(host)}"
    for name, value in tags.items():
        if value and (shown := escaped(value)):
            text += f",{name}={shown}"
    return text


def quoted(value: str) -> str:
    """A field's string; what is longer than `LONGEST_VALUE` characters is cut."""
    shown = _UNSHOWN.sub(_escape_control, value[:LONGEST_VALUE])
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def integers(fields: dict[str, int]) -> str:
    """Whole fields; a number that the wire cannot carry is left out."""
    return ",".join(
        f"{name}={value}i" for name, value in fields.items() if 0 <= value <= LARGEST_INTEGER
    )


def whole(text: str) -> int | None:
    """A counter as the kernel prints it; None if it is none that the wire can carry."""
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        return None
    value = int(text)
    return value if value <= LARGEST_INTEGER else None


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return f"\\{character}" if character in " ,=" else _escape_control(found)


def _escape_control(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return f"\\x{code & 0xFF:02x}"
    if code > 0xFF:
        return f"\\u{code:04x}"
    return _SHORT.get(character) or f"\\x{code:02x}"
