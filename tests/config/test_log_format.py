"""Log lines as key=value."""

import json
import logging
import sys

import pytest

from accounts.log_context import tell, working_on
from config.env import SettingError
from config.log_format import JsonFormatter, KeyValueFormatter, log_configuration


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


def test_line_tells_what_is_worked_on_and_its_own_field_wins():
    with working_on(request_id="abc-12345", organisation=3):
        tell(organisation=7, host="h1")
        text = line("x", host="h2")

    assert text.endswith("host=h2 organisation=7 request_id=abc-12345")
    assert "request_id" not in line("x")


def test_text_of_a_client_ends_no_line_and_speaks_to_no_terminal():
    text = line("x", path="/a\r\n\x1b[2J\u2028b")

    assert text.endswith(r'path="/a\u000d\n\u001b[2J\u2028b"')
    assert text.isprintable()


def test_request_of_django_is_not_shown():
    assert "hidden" not in line("x", request="<WSGIRequest: GET '/?code=hidden'>")


def json_line(message: str, **extra: object) -> dict[str, object]:
    values = {"name": "ingest", "levelname": "INFO", "msg": message, "created": 0.0, **extra}
    text = JsonFormatter().format(logging.makeLogRecord(values))
    assert "\n" not in text
    return json.loads(text)


def test_json_line_has_the_same_fields_with_their_types():
    with working_on(request_id="abc-12345"):
        found = json_line("batch stored", rows=3, ratio=0.5, to=None, ok=True, at={"a": [1]})

    assert found == {
        "time": "1970-01-01T00:00:00.000+00:00", "level": "info", "logger": "ingest",
        "message": "batch stored", "request_id": "abc-12345",
        "rows": 3, "ratio": 0.5, "to": None, "ok": True, "at": {"a": [1]},
    }  # fmt: skip


def test_json_line_of_what_json_has_not_is_text():
    assert json_line("x", value=float("nan"))["value"] == "nan"
    assert json_line("x", where=ValueError("broken"))["where"] == "broken"


def test_json_line_has_the_traceback_and_masks_it():
    try:
        raise ValueError("no /join/4Hx9")
    except ValueError:
        found = json_line("failed", exc_info=sys.exc_info())

    assert str(found["exception"]).endswith("ValueError: no /join/***")


def test_own_field_cannot_pass_for_another_time_or_level():
    assert json_line("x", time="never", level="none")["level"] == "info"


@pytest.mark.parametrize(
    ("stated", "kind"), [("", "KeyValue"), ("text", "KeyValue"), ("json", "Json")]
)
def test_environment_says_how_lines_are_written(stated, kind, monkeypatch):
    monkeypatch.setenv("SLUICE_LOG_FORMAT", stated)

    (formatter,) = log_configuration()["formatters"].values()

    assert formatter == {"()": f"config.log_format.{kind}Formatter"}


def test_unknown_format_of_lines_is_refused(monkeypatch):
    monkeypatch.setenv("SLUICE_LOG_FORMAT", "xml")

    with pytest.raises(
        SettingError, match="SLUICE_LOG_FORMAT='xml' is not known; use one of text, json"
    ):
        log_configuration()
