"""The program that sends for the sample's hosts, to a server that fails as real ones do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from appliance.sample import play
from appliance.sample.fleet import HOSTS, STATE_FILE, TOKEN_FILE
from appliance.sample.play import Player, SampleGone, SampleRefused, main

NOW_S = 1_700_000_400


@dataclass
class Server:
    """Answers 204, after the answers that are to come before."""

    socket: str = ""
    answers: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = told.answers.pop(0) if told.answers else 204
            if status == 204:
                told.bodies.append(body)
                told.tokens.add(self.headers["Authorization"])
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingUnixStreamServer(str(tmp_path / "web.sock"), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        told.socket = str(tmp_path / "web.sock")
        yield told
        http.shutdown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / TOKEN_FILE).write_text("secret")
    monkeypatch.setattr(play, "HISTORY_S", 60)
    monkeypatch.setattr("time.time", lambda: float(NOW_S))
    monkeypatch.setattr("time.sleep", lambda _: None)
    return tmp_path


def times(server: Server) -> list[int]:
    """The moments of all lines, in seconds."""
    found = {int(line.rpartition(b" ")[2]) for body in server.bodies for line in body.splitlines()}
    return sorted(one // 10**9 for one in found)


def test_past_is_sent_up_to_now_with_the_token(server: Server, folder: Path) -> None:
    Player(folder, server.socket).catch_up()

    assert times(server) == list(range(NOW_S - 50, NOW_S + 1, 10))
    assert len(server.bodies) == len(HOSTS)
    assert server.tokens == {"Token secret"}


@pytest.mark.parametrize("refusal", [429, 503])
def test_body_that_is_put_off_is_sent_again(server: Server, folder: Path, refusal: int) -> None:
    server.answers = [204, refusal, refusal]

    Player(folder, server.socket).catch_up()

    assert len(server.bodies) == len(HOSTS)
    assert len(set(server.bodies)) == len(HOSTS)


def test_next_start_goes_on_where_the_last_one_ended(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Player(folder, server.socket).catch_up()
    before = reads_of_first_disk(server.bodies[-1])
    server.bodies.clear()
    monkeypatch.setattr("time.time", lambda: NOW_S + 20.0)

    Player(folder, server.socket).catch_up()

    assert times(server) == [NOW_S + 10, NOW_S + 20]
    assert reads_of_first_disk(server.bodies[-1]) > before > 0


def test_after_a_long_pause_only_the_last_hours_are_sent(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Player(folder, server.socket).catch_up()
    server.bodies.clear()
    monkeypatch.setattr("time.time", lambda: NOW_S + 86400.0)

    Player(folder, server.socket).catch_up()

    assert times(server)[0] == NOW_S + 86400 - 50


def test_program_ends_when_the_sample_was_removed(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers = [401]

    main(str(folder), server.socket)

    assert "removed" in capsys.readouterr().out
    assert not (folder / STATE_FILE).exists()


def test_answer_that_nothing_mends_is_an_error(server: Server, folder: Path) -> None:
    server.answers = [400]

    with pytest.raises(SampleRefused, match="400"):
        Player(folder, server.socket).catch_up()


def test_server_that_is_away_is_asked_again(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def wait(length_s: float) -> None:
        waits.append(length_s)
        if len(waits) == 8:
            raise SampleGone

    monkeypatch.setattr("time.sleep", wait)

    with pytest.raises(SampleGone):
        Player(folder, str(folder / "nobody.sock")).catch_up()

    assert waits == sorted(waits)
    assert waits[-1] == 30.0


def reads_of_first_disk(body: bytes) -> int:
    line = next(line for line in body.splitlines()[::-1] if line.startswith(b"diskio"))
    return int(line.partition(b"reads=")[2].partition(b"i")[0])
