"""Log lines as key=value, for people and programs.

The agent writes the same with a formatter of its own: its distribution holds nothing of this one.
"""

import logging
from datetime import UTC, datetime

# Every attribute a plain record has; what else a record carries came through `extra`.
STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class KeyValueFormatter(logging.Formatter):
    """One line per record: time, level, logger, message, then the extra fields by name."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as `time=... level=... logger=... msg="..." key=value`."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, object] = {
            "time": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        extra = {k: v for k, v in vars(record).items() if k not in STANDARD_ATTRIBUTES}
        fields.update(sorted(extra.items()))
        line = " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _quoted(value: object) -> str:
    """The value bare when it is one plain word, else in double quotes on one line."""
    text = str(value)
    if text and not any(c.isspace() or c in '"=' for c in text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
