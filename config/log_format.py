"""Log lines as key=value for people, or as JSON for programs that collect them.

The agent writes the same with a formatter of its own: its distribution holds nothing of this one.
"""

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum

from accounts.log_context import told
from config import env
from config.secret_paths import masked

# Every attribute a plain record has; what else a record carries came through `extra`.
STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
# Django adds the whole request, whose text has the query; the access line has its path.
_NOT_SHOWN = STANDARD_ATTRIBUTES | {"request"}


class LogFormat(StrEnum):
    """How a line is written."""

    TEXT = "text"
    JSON = "json"


def log_configuration() -> dict[str, object]:
    """What `logging.config.dictConfig` takes, by the environment: all lines to standard error."""
    stated = LogFormat(env.choice("SLUICE_LOG_FORMAT", LogFormat.TEXT, list(LogFormat)))
    kind = {LogFormat.TEXT: KeyValueFormatter, LogFormat.JSON: JsonFormatter}[stated]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{__name__}.{kind.__name__}"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": env.text("SLUICE_LOG_LEVEL", "INFO")},
        # Two lines of Celery for each task, where config.task_log writes one.
        "loggers": {
            name: {"level": "WARNING"} for name in ("celery.worker.strategy", "celery.app.trace")
        },
    }


class KeyValueFormatter(logging.Formatter):
    """One line per record: time, level, logger, message, then the other fields by name."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as `time=... level=... logger=... msg="..." key=value`."""
        fields = {**_standard(record, message="msg"), **_others(record)}
        line = " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return masked(line)


class JsonFormatter(logging.Formatter):
    """One JSON object per record and line, in which a traceback is the field `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as an object; what has no form in JSON is text."""
        fields = {**_others(record), **_standard(record, message="message")}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        try:
            line = json.dumps(fields, default=str, allow_nan=False)
        except (ValueError, TypeError):
            # No number, a circle, or keys that are no texts.
            line = json.dumps({str(key): str(value) for key, value in fields.items()})
        return masked(line)


def _standard(record: logging.LogRecord, *, message: str) -> dict[str, object]:
    return {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        message: record.getMessage(),
    }


def _others(record: logging.LogRecord) -> dict[str, object]:
    """What the request or task tells, and what came with this record, which wins."""
    extra = {key: value for key, value in vars(record).items() if key not in _NOT_SHOWN}
    return dict(sorted({**told(), **extra}.items()))


def _quoted(value: object) -> str:
    """The value bare when it is one plain word, else in double quotes on one line."""
    text = str(value)
    if text and text.isprintable() and not any(c.isspace() or c in '"=' for c in text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    # A client's text must not end a line, nor speak to somebody's terminal.
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)
    return f'"{shown}"'
