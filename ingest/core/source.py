"""The head of a line: which host it comes from and which series it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.core.catalogue import Measurement
from ingest.core.lengths import LONGEST_HOST_NAME, MOST_TAGS_BYTES
from ingest.core.line_protocol import LineError
from ingest.core.stored_values import STORED


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesKey:
    """The identity of a series within its organisation, in the columns of its row."""

    measurement: str
    host: str
    subject: str
    tags: tuple[tuple[str, str], ...]

    @property
    def tags_key(self) -> str:
        """The tags as one text; escapes keep two sets of tags from having the same."""
        return ",".join(f"{_escaped(name)}={_escaped(value)}" for name, value in self.tags)


class UnknownMeasurementError(LineError):
    """The line is good, but nothing of its measurement is stored."""


@dataclass(slots=True)
class Source:
    """A head that was seen in this body; `error` is why no row can come from it.

    `places` holds the numbers of its series in the batch, by measurement and device.
    """

    measurement: Measurement
    tags: Mapping[str, str]
    error: str | None
    places: dict[tuple[str, str], int] = field(default_factory=dict)

    def series_key(self, measurement: Measurement, device: str) -> SeriesKey:
        """The series of a row of this source; only a source without error has one."""
        tags = {**self.tags, "device": device} if device else self.tags
        subject_tag = measurement.subject_tag
        return SeriesKey(
            measurement=measurement.name,
            host=self.tags["host"],
            subject=self.tags[subject_tag] if subject_tag else "",
            tags=tuple(sorted(tags.items())),
        )


def read_source(
    measurement: str, tags: tuple[tuple[str, str], ...], *, only_host: str | None
) -> Source:
    """The source of lines with this head; `only_host` is the one host that may send, if any."""
    stored = STORED.get(measurement)
    if stored is None:
        shown = measurement if len(measurement) <= 64 else measurement[:61] + "..."
        raise UnknownMeasurementError(f'unknown measurement "{shown}": nothing of it is stored')
    named = dict(tags)
    error = _host_error(named.get("host"), only_host) or _tags_error(stored, named)
    return Source(measurement=stored, tags=named, error=error)


def _host_error(host: str | None, only_host: str | None) -> str | None:
    if not host:
        return 'tag "host" is missing: it says which host the sample is of'
    if len(host) > LONGEST_HOST_NAME:
        return f'tag "host" is longer than {LONGEST_HOST_NAME} characters'
    if only_host is not None and host != only_host:
        return f'this token may only send samples of host "{only_host}"'
    return None


def _tags_error(measurement: Measurement, tags: Mapping[str, str]) -> str | None:
    subject_tag = measurement.subject_tag
    if subject_tag and subject_tag not in tags:
        return f'tag "{subject_tag}" is missing: {measurement.name} needs it'
    longest = measurement.longest_subject
    if subject_tag and len(tags[subject_tag]) > longest:
        return f'tag "{subject_tag}" is longer than {longest} characters'
    key_bytes = sum(len(f"{_escaped(k)}={_escaped(v)},".encode()) for k, v in tags.items())
    if key_bytes > MOST_TAGS_BYTES:
        return f"the tags together are longer than {MOST_TAGS_BYTES} bytes"
    return None


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
