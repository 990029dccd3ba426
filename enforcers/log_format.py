"""Log lines as key=value on one line each.

The service has a formatter of its own, because the agent is installed without it.
"""

import json
import logging
import sys
import time

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class KeyValueFormatter(logging.Formatter):
    """Time in UTC, level, message, then what came through `extra` by name."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        extra = {key: value for key, value in vars(record).items() if key not in _PLAIN}
        fields = {
            "time": at,
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
            **dict(sorted(extra.items())),
        }
        line = " ".join(f"{key}={_word(str(value))}" for key, value in fields.items())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def log_to_stderr(*, verbose: bool) -> None:
    """Send all logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(KeyValueFormatter())
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])


def _word(text: str) -> str:
    is_plain = bool(text) and not any(letter.isspace() or letter in '"=' for letter in text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
