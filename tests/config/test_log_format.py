"""Log lines as key=value."""

import logging
import sys

from config.log_format import KeyValueFormatter


def line(message: str, **extra: object) -> str:
    record = logging.makeLogRecord(
        {"name": "ingest", "levelname": "INFO", "msg": message, "created": 0.0, **extra}
    )
    return KeyValueFormatter().format(record)


def test_record_is_one_line_of_fields():
    assert line("batch stored", rows=3, host="h1") == (
        'time=1970-01-01T00:00:00.000+00:00 level=info logger=ingest msg="batch stored" '
        "host=h1 rows=3"
    )


def test_value_with_spaces_quotes_or_line_ends_is_quoted():
    assert line("x", reason='say "a=b"\nplease').endswith(r'reason="say \"a=b\"\nplease"')


def test_empty_value_is_visible():
    assert line("x", reason="").endswith('reason=""')


def test_exception_follows_its_record():
    try:
        raise ValueError("broken")
    except ValueError:
        text = line("failed", exc_info=sys.exc_info())

    assert text.splitlines()[-1] == "ValueError: broken"
