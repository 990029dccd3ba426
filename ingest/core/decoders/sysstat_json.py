"""JSON of sysstat, report by report: `{"sysstat": {"hosts": [{..., "statistics": [...]}]}}`.

A day of reports has hundreds of megabytes, and a program that is stopped never writes the end; so
the reports are read one by one as they come, in memory bounded by the largest of them.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ingest.core.decoders.errors import FormatError
from ingest.core.decoders.rejections import Rejections

MOST_REPORT_CHARACTERS = 32 * 1024 * 1024
"""A report of 100,000 devices has about 30 MB."""

_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_ABOUT_HOST = re.compile(r'"([a-z-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"')
_REPORT = re.compile(r'\{\s*"(?:timestamp|avg-cpu|disk)"\s*:')
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
_MOST_BEFORE_REPORTS = 64 * 1024
_READ_CHARACTERS = 64 * 1024
_LONGEST_TOKEN = 4096
"""A fault nearer to the end of what was read may be the end itself."""

About = Mapping[str, str]
"""What a file says of a host: `nodename`, `date`, `file-date`, `timezone` and others."""


def reports(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    most_characters: int = MOST_REPORT_CHARACTERS,
) -> Iterator[tuple[About, Mapping[str, Any]]]:
    """What the file says of the host, and a report. Broken reports are named and left out, and so
    are those that are longer than `most_characters`.

    Raises `FormatError` if the file has no reports at all.
    """
    text = _Text(chunks)
    is_any = False
    while about := _next_host(text):
        is_any = True
        for report in _reports_of_host(text, rejections, most_characters):
            yield about, report
    if not is_any:
        raise FormatError('the file has no "statistics" as sysstat writes them in JSON')


class _Text:
    """The part of a file that is being read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._following = (decoder.decode(chunk) for chunk in chunks)
        self.text = ""

    def read(self) -> bool:
        """Make the text at least half as long again; False at the end of the file."""
        wanted = max(_READ_CHARACTERS, len(self.text) // 2)
        pieces = [self.text]
        for piece in self._following:
            pieces.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        before, self.text = len(self.text), "".join(pieces)
        return len(self.text) > before

    def drop(self, end: int) -> None:
        self.text = self.text[end:]

    def keep_last(self, count: int) -> None:
        self.text = self.text[-count:]


def _next_host(text: _Text) -> About | None:
    """Go behind the next "statistics": what stands before it, None at the end of the file."""
    while not (found := _STATISTICS.search(text.text)):
        text.keep_last(_MOST_BEFORE_REPORTS)
        if not text.read():
            return None
    # The fields of a host stand behind the end of the host before.
    about = dict(_ABOUT_HOST.findall(text.text[: found.start()]))
    text.drop(found.end())
    return about or {"nodename": ""}


def _reports_of_host(
    text: _Text, rejections: Rejections, most_characters: int
) -> Iterator[Mapping[str, Any]]:
    position = 0
    while text.text[(position := _skip(text.text, position)) : position + 1] != "]":
        try:
            report, position = _DECODER.raw_decode(text.text, position)
        except (ValueError, RecursionError) as error:
            fault = _place(error, start=position, end=len(text.text)) - position
            text.drop(position)
            is_broken = fault < len(text.text) - _LONGEST_TOKEN
            if not is_broken and len(text.text) <= most_characters and text.read():
                position = 0
                continue
            position = _behind_fault(text, rejections)
            if not text.text:
                return
            continue
        if isinstance(report, dict):
            yield report
        else:
            rejections.add(str(report), "a report is no object")
        # Not after each report: what is left of a large chunk would be copied each time.
        if position > len(text.text) // 2:
            text.drop(position)
            position = 0
    text.drop(position)


def _place(error: ValueError | RecursionError, *, start: int, end: int) -> int:
    """Where a report is broken. A text that is never closed is told by its start: it may go on."""
    if not isinstance(error, json.JSONDecodeError):
        return start
    return end if error.msg.startswith("Unterminated string") else error.pos


def _behind_fault(text: _Text, rejections: Rejections) -> int:
    """Where the next report begins, when the text begins with one that is broken or has no end.

    The text is empty behind the end of the file.
    """
    start = text.text[:80]
    while not (following := _REPORT.search(text.text, 1)):
        text.keep_last(_LONGEST_TOKEN)
        if not text.read():
            if start.strip(" \t\r\n,]}"):
                rejections.add(start, "the file ends within a report")
            text.drop(len(text.text))
            return 0
    rejections.add(start, "a report is broken")
    return following.start()


def _skip(text: str, position: int) -> int:
    between = _BETWEEN.match(text, position)
    return between.end() if between else position
