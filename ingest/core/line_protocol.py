"""Line protocol, strictly: the text of a line becomes a point, or a reason why it is none.

The grammar is the official one of InfluxDB v2, with its rules on escapes: only the characters
that would end a name are escaped in it, every other backslash is a character like any other.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import assert_never

from ingest.core.point import FieldValue, Point, PointError

SMALLEST_INT64 = -(2**63)
LARGEST_INT64 = 2**63 - 1
LARGEST_UINT64 = 2**64 - 1

MAX_LINE_CHARACTERS = 1024 * 1024
"""A cgroup line of a host with thousands of devices has some hundred thousand."""
MAX_TAGS = 256
LONGEST_EXCERPT = 200


class Precision(StrEnum):
    """The unit of the timestamps of a body."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"

    @property
    def nanoseconds(self) -> int:
        match self:
            case Precision.NS:
                return 1
            case Precision.US:
                return 1_000
            case Precision.MS:
                return 1_000_000
            case Precision.S:
                return 1_000_000_000
            case _:
                assert_never(self)


class LineError(PointError):
    """A line is no valid line protocol; the text is the reason."""


def excerpt(line: str) -> str:
    """The first part of a line, fit to be stored: text without NUL and without broken bytes."""
    text = line[:LONGEST_EXCERPT].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def logical_lines(body: bytes) -> Iterator[tuple[int, str]]:
    """The lines of a body with their numbers, without blank lines and good comments.

    A quoted string may hold line breaks. A line whose quote is never closed ends at its line
    break all the same, so that it cannot swallow the good lines behind it.
    Bytes that are not UTF-8 come as lone surrogates, which `parse_line` refuses.
    """
    lines = body.decode("utf-8", "surrogateescape").split("\n")
    index = 0
    most = _SEARCHED_ALWAYS + _SEARCHED_RATIO * len(body)
    while index < len(lines):
        line, taken = lines[index], 1
        if '"' in line and most > 0:
            line, taken, searched = _with_quoted_breaks(lines, index, most)
            most -= searched
        line = line.removesuffix("\r").lstrip(" ")
        if line and (not line.startswith("#") or _BAD_COMMENT.search(line)):
            yield index + 1, line
        index += taken


_MOST_QUOTED_BREAKS = 100
_SEARCHED_RATIO, _SEARCHED_ALWAYS = 16, 1_000_000
"""So often the size of a body, and so many characters beside, are searched for ends of strings.
Behind that a line ends at its line break: else each of many open quotes would cost 100 lines."""
_BAD_COMMENT = re.compile(r"[\x00-\x1f\x7f]")
"""A comment with a control character is refused, as any line is."""


def _with_quoted_breaks(lines: list[str], index: int, most: int) -> tuple[str, int, int]:
    """The line at `index` up to the end of its quoted string, and how many lines that takes.

    The last number is how many characters were searched for it, not many more than `most`.
    """
    line = lines[index]
    following = index + 1
    last = min(len(lines), following + _MOST_QUOTED_BREAKS)
    searched = len(line)
    while searched <= most and _UNCLOSED.search(line) and following < last:
        # Only a line with a quote can close the string.
        while following < last and '"' not in lines[following]:
            line += "\n" + lines[following]
            following += 1
        if following < last:
            line += "\n" + lines[following]
            following += 1
        searched += len(line)
    if following > index + 1 and not _is_valid(line):
        return lines[index], 1, searched
    return line, following - index, searched


def _is_valid(line: str) -> bool:
    try:
        parse_line(line.removesuffix("\r").lstrip(" "))
    except LineError:
        return False
    return True


_CONTROL = r"\x00-\x1f\x7f"
_NAME = re.compile(rf"(?:[^{_CONTROL} ,\\]|\\[ ,]|\\)++")
_KEY = re.compile(rf"(?:[^{_CONTROL} ,=\\]|\\[ ,=]|\\)++")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_TOKEN = re.compile(rf"[^{_CONTROL} ,]++")
_SPACES = re.compile(r" *+")
_TIME = re.compile(r"-?[0-9]+")
_INTEGER = re.compile(r"(-?[0-9]+)([iu])")
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_UNCLOSED = re.compile(r'="(?:[^"\\]|\\.)*+\\?\Z', re.DOTALL)
_TRUE = frozenset({"t", "T", "true", "True", "TRUE"})
_FALSE = frozenset({"f", "F", "false", "False", "FALSE"})
_STRING_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def parse_line(line: str) -> Point:
    """The point of one line; raises `LineError` with the reason why there is none."""
    if len(line) > MAX_LINE_CHARACTERS:
        raise LineError(f"the line is longer than {MAX_LINE_CHARACTERS} characters")
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise LineError("the line is not valid UTF-8") from error
    measurement, tags, position = _parse_head(line)
    if line[position : position + 1] != " ":
        raise LineError(_expected("a space and a field", line, position))
    fields, position = _parse_fields(line, _skip_spaces(line, position))
    return Point(
        measurement=measurement, tags=tags, fields=fields, time=_parse_time(line, position)
    )


def parse_head(head: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The measurement and its tags, in order of name, of the part before the first space."""
    measurement, tags, position = _parse_head(head)
    if position != len(head):
        raise LineError(_expected("a tag", head, position))
    return measurement, tags


def parse_float(text: str) -> float | None:
    """A finite number as line protocol writes it; None when it is none."""
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) != float("inf") else None


def _parse_head(line: str) -> tuple[str, tuple[tuple[str, str], ...], int]:
    name = _NAME.match(line)
    if line.startswith("#"):
        raise LineError("the comment has a control character")
    if not name:
        raise LineError(_expected("a measurement", line, 0))
    position = name.end()
    tags: dict[str, str] = {}
    while line[position : position + 1] == ",":
        key, position = _parse_key(line, position + 1, what="a tag")
        value = _KEY.match(line, position)
        if not value:
            raise LineError(f"tag {_shown(key)} has no value")
        if key in tags:
            raise LineError(f"tag {_shown(key)} is there twice")
        if len(tags) == MAX_TAGS:
            raise LineError(f"the line has more than {MAX_TAGS} tags")
        tags[key] = _unescaped(value[0], " ,=")
        position = value.end()
    return _unescaped(name[0], " ,"), tuple(sorted(tags.items())), position


def _parse_key(line: str, position: int, *, what: str) -> tuple[str, int]:
    """A key and the place behind the `=` that follows it."""
    key = _KEY.match(line, position)
    if not key:
        raise LineError(_expected(what, line, position))
    if line[key.end() : key.end() + 1] != "=":
        raise LineError(_expected(f'"=" after {_shown(key[0])}', line, key.end()))
    return _unescaped(key[0], " ,="), key.end() + 1


def _parse_fields(line: str, position: int) -> tuple[dict[str, FieldValue], int]:
    fields: dict[str, FieldValue] = {}
    while True:
        key, position = _parse_key(line, position, what="a field")
        fields[key], position = _parse_value(key, line, position)
        if line[position : position + 1] != ",":
            return fields, position
        position += 1


def _parse_value(key: str, line: str, position: int) -> tuple[FieldValue, int]:
    if line.startswith('"', position):
        string = _STRING.match(line, position)
        if not string:
            raise LineError(f"field {_shown(key)}: the closing quote is missing")
        return _unquoted(string[1]), string.end()
    token = _TOKEN.match(line, position)
    if not token:
        raise LineError(f"field {_shown(key)} has no value")
    return _plain_value(key, token[0]), token.end()


def _plain_value(key: str, text: str) -> FieldValue:
    if integer := _INTEGER.fullmatch(text):
        return _integer_value(key, integer[1], signed=integer[2] == "i")
    if _FLOAT.fullmatch(text):
        number = parse_float(text)
        if number is None:
            raise LineError(f"field {_shown(key)}: {_shown(text)} is too large a number")
        return number
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise LineError(
        f"field {_shown(key)}: {_shown(text)} is not a value;"
        " a number, an integer with i or u, true, false or a quoted string is"
    )


def _integer_value(key: str, digits: str, *, signed: bool) -> int:
    smallest, largest = (SMALLEST_INT64, LARGEST_INT64) if signed else (0, LARGEST_UINT64)
    # More digits than the largest has cannot fit, and a huge text would take long to convert.
    value = int(digits) if len(digits.lstrip("-0")) <= len(str(largest)) else None
    if value is None or not smallest <= value <= largest or (not signed and digits[0] == "-"):
        kind = "signed" if signed else "unsigned"
        raise LineError(f"field {_shown(key)}: {_shown(digits)} is no {kind} 64-bit integer")
    return value


def _parse_time(line: str, position: int) -> int | None:
    text = line[position:].strip(" ")
    if not text:
        return None
    if line[position] != " ":
        raise LineError(_expected("a comma or a space", line, position))
    if not _TIME.fullmatch(text):
        raise LineError(f"{_shown(text)} is not a timestamp")
    value = int(text) if len(text) <= len(str(SMALLEST_INT64)) else LARGEST_INT64 + 1
    if not SMALLEST_INT64 <= value <= LARGEST_INT64:
        raise LineError(f"timestamp {_shown(text)} does not fit 64 bits")
    return value


def _skip_spaces(line: str, position: int) -> int:
    spaces = _SPACES.match(line, position)
    return spaces.end() if spaces else position


def _unescaped(text: str, escaped: str) -> str:
    return re.sub(rf"\\([{escaped}])", r"\1", text) if "\\" in text else text


def _unquoted(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r'\\([nrt"\\])', lambda escape: _STRING_ESCAPES[escape[1]], text)


def _expected(what: str, line: str, position: int) -> str:
    found = _shown(line[position]) if position < len(line) else "the end of the line"
    return f"expected {what}, found {found}"


def _shown(text: str) -> str:
    """A part of a line as it appears in a reason: quoted, short, printable."""
    short = text if len(text) <= 64 else text[:61] + "..."
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in short) + '"'


_COMMON_NAME = r'[^\x00-\x20\x7f,=\\"\ud800-\udfff]++'
# So many digits fit 64 bits, whatever they are.
_COMMON_NUMBER = r"[0-9]{1,18}+(?:i|(?:\.[0-9]*+)?)"
_COMMON_FIELD = f"{_COMMON_NAME}={_COMMON_NUMBER}"
_COMMON = re.compile(
    f"((?!#){_COMMON_NAME}(?:,{_COMMON_NAME}={_COMMON_NAME})*+) "
    f"({_COMMON_FIELD}(?:,{_COMMON_FIELD})*+)(?: ([0-9]{{1,19}}+))?"
)


def parse_common_line(line: str) -> tuple[str, dict[str, FieldValue], int | None] | None:
    """Head, fields and time of a line without quotes, escapes and rare values.

    It is the fast path: for every line that it cannot vouch for it is None, and the strict parser
    has to say. A test holds them equal.
    """
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
