"""Log lines as key=value on one line each, or as journald's fields.

The service has a formatter of its own, because the agent is installed without it.
"""

import json
import logging
import os
import sys
import time

from enforcers.journal import JournalHandler, is_journal

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class KeyValueFormatter(logging.Formatter):
    """Time in UTC, level, message, then what came through `extra` by name."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        fields = {
            "time": at,
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
            **extra_of(record),
        }
        return self._with_traceback(_line(fields), record)

    def brief(self, record: logging.LogRecord) -> str:
        """The same for a journal, which has time and level by itself."""
        words = [record.getMessage(), _line(extra_of(record))]
        return self._with_traceback(" ".join(filter(None, words)), record)

    def _with_traceback(self, line: str, record: logging.LogRecord) -> str:
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object per record and line, with the same names as the service's."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {
            **extra_of(record),
            "time": f"{at}.{int(record.msecs):03d}+00:00",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


def extra_of(record: logging.LogRecord) -> dict[str, object]:
    """What came through `extra`, in order of name."""
    return {key: value for key, value in sorted(vars(record).items()) if key not in _PLAIN}


def start_logging(*, verbose: bool) -> None:
    """Send all logs to standard error, or with their fields to the journal that it leads to.

    With SLUICE_LOG_FORMAT=json, for containers, each line to standard error is a JSON object.
    """
    text = KeyValueFormatter()
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    is_json = os.environ.get("SLUICE_LOG_FORMAT") == "json"
    handler.setFormatter(JsonFormatter() if is_json else text)
    if is_journal(sys.stderr):
        handler = JournalHandler(text.brief, extra_of)
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])


def _line(fields: dict[str, object]) -> str:
    return " ".join(f"{key}={_word(str(value))}" for key, value in fields.items())


def _word(text: str) -> str:
    is_plain = bool(text) and not any(letter.isspace() or letter in '"=' for letter in text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
