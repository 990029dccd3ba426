"""The exchange with the service over real sockets."""

import logging
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from accounts.log_context import taken_request_id
from enforcers import ed25519
from enforcers.client import Client
from enforcers.config import ServerConfig
from enforcers.errors import ConfigError, ServerError
from enforcers.request_id import of_newest_exchange
from enforcers.signature import ServerKey
from enforcers.version import VERSION
from enforcers.wire_signatures import REPORT_HEADER, read_report_signature, report_message
from tests.enforcers.web_service import WebService, web_service


@pytest.fixture
def service() -> Iterator[WebService]:
    with web_service() as running:
        yield running


def client(url: str, *, timeout_s: float = 5.0, ca_file: Path | None = None) -> Client:
    """A client for this address."""
    return Client(
        ServerConfig(
            url=urlsplit(url),
            timeout_s=timeout_s,
            ca_file=ca_file,
            token="secret-token",
            document_key=b"k",
        )
    )


def test_document_is_fetched_with_the_token(service: WebService) -> None:
    service.answer = b'{"document": 1}'

    answer = client(service.url).fetch_document()

    assert answer == b'{"document": 1}'
    method, path, headers, _ = service.asked[0]
    assert (method, path) == ("GET", "/api/v1/enforcer/document")
    assert headers["Authorization"] == "Bearer secret-token"
    assert headers["User-Agent"] == f"sluice-enforcer/{VERSION}"


def test_each_exchange_has_an_id_that_its_line_tells(
    service: WebService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asking = client(service.url)

    asking.fetch_document()
    service.status = 422
    with pytest.raises(ServerError):
        asking.send_report(b"{}")

    ids = [headers["X-Request-ID"] for _, _, headers, _ in service.asked]
    assert len(set(ids)) == 2
    # Those of the service's own alphabet and length, or it would give them another.
    assert [taken_request_id(one) for one in ids] == ids
    told = [
        (one.levelname, vars(one)["request_id"], vars(one)["status"]) for one in caplog.records
    ]
    # Who is refused looks into both logs; others are found with --verbose.
    assert told == [("DEBUG", ids[0], 200), ("INFO", ids[1], 422)]
    assert "secret-token" not in caplog.text


def test_exchange_without_an_answer_is_told_under_its_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises(ServerError):
        client("http://127.0.0.1:9").fetch_document()

    (line,) = caplog.records
    assert (line.levelname, vars(line)["status"]) == ("DEBUG", "none")
    assert vars(line)["request_id"] == of_newest_exchange()["request_id"]


def test_client_says_which_signatures_it_reads(service: WebService) -> None:
    client(service.url).fetch_document()

    _, _, headers, _ = service.asked[0]
    assert headers["Accept"] == "application/json; schema=2; signature=hmac-sha256"


def test_reports_are_signed_by_the_hosts_key_with_numbers_that_grow(
    service: WebService, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clock is set back between them.
    clock = iter([3_000_000_000, 3_000_000_000, 1_000_000_000])
    monkeypatch.setattr("enforcers.client.time.time_ns", lambda: next(clock))
    secret = bytes(range(32))
    public = ed25519.public_key(secret)
    own = Client(
        ServerConfig(
            url=urlsplit(service.url),
            timeout_s=5.0,
            ca_file=None,
            token="secret-token",
            document_key=ServerKey(public=public),
            report_key=secret,
        )
    )

    for _ in range(3):
        own.send_report(b"{}")

    signed = [read_report_signature(asked[2][REPORT_HEADER]) for asked in service.asked]
    assert [one.number for one in signed] == [3_000_000, 3_000_001, 3_000_002]
    for one in signed:
        message = report_message(b"{}", number=one.number)
        assert ed25519.is_signed(message, one.signature, public)


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"newest_number": "7"}',
        b'{"newest_number": true}',
        b'{"newest_number": 9223372036854775807}',
    ],
    ids=["empty", "list", "deep", "text", "boolean", "too large"],
)
def test_number_that_is_of_no_use_changes_nothing(service: WebService, told: bytes) -> None:
    service.status, service.answer = 422, told
    own = Client(
        ServerConfig(
            url=urlsplit(service.url), timeout_s=5.0, ca_file=None, token="secret-token",
            document_key=ServerKey(public=ed25519.public_key(bytes(range(32)))),
            report_key=bytes(range(32)),
        )
    )  # fmt: skip

    with pytest.raises(ServerError) as refused:
        own.send_report(b"{}")

    assert refused.value.is_final
    assert len(service.asked) == 1


def test_report_is_posted_with_its_length_below_a_base_path(service: WebService) -> None:
    client(f"{service.url}/base/").send_report(b'{"report": 1}')

    method, path, headers, body = service.asked[0]
    assert (method, path) == ("POST", "/base/api/v1/enforcer/report")
    assert (headers["Content-Length"], body) == ("13", b'{"report": 1}')


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        (204, False),
        (302, False),
        (400, True),
        (401, False),
        (403, False),
        (404, True),
        (408, False),
        (413, True),
        (429, False),
        (500, False),
        (503, False),
    ],
)
def test_status_other_than_200_is_an_error(
    service: WebService, status: int, is_final: bool
) -> None:
    service.status = status
    service.answer = b'{"error": "said so"}' if status != 204 else b""
    service.headers = {"Location": f"{service.url}/elsewhere"}

    with pytest.raises(ServerError, match=f"status {status}") as error:
        client(service.url).send_report(b"{}")

    assert error.value.is_final is is_final
    assert "secret-token" not in str(error.value)
    assert len(service.asked) == 1


def test_error_quotes_what_the_service_said(service: WebService) -> None:
    service.status, service.answer = 401, b'{"error": "unknown\n token"}' + b"x" * 1000

    with pytest.raises(ServerError) as error:
        client(service.url).fetch_document()

    assert '{"error": "unknown token"}' in str(error.value)
    assert len(str(error.value)) < 400


def test_service_that_is_not_there_is_an_error() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]

        with pytest.raises(ServerError, match="Connection refused") as error:
            client(f"http://127.0.0.1:{port}").fetch_document()

    assert not error.value.is_final


@pytest.mark.parametrize(
    "piece",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
    ids=["silent", "in the head", "in the body", "in a chunk", "not HTTP"],
)
def test_answer_that_breaks_off_is_an_error(service: WebService, piece: bytes) -> None:
    def breaks_off(answering: BaseHTTPRequestHandler) -> None:
        answering.wfile.write(piece)
        answering.close_connection = True

    service.write = breaks_off

    with pytest.raises(ServerError, match="GET http"):
        client(service.url).fetch_document()


def test_service_that_answers_a_byte_at_a_time_is_cut_off(service: WebService) -> None:
    def drips(answering: BaseHTTPRequestHandler) -> None:
        answering.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            answering.wfile.write(b"x")
            answering.wfile.flush()
            time.sleep(0.02)

    service.write = drips
    started = time.monotonic()

    with pytest.raises(ServerError):
        client(service.url, timeout_s=0.5).fetch_document()

    assert time.monotonic() - started < 5


def test_figures_are_posted_and_the_answer_is_given(service: WebService) -> None:
    service.answer = b'{"hosts": 2}'

    answer = client(service.url).exchange(b'{"ios": 1}')

    assert answer == b'{"hosts": 2}'
    method, path, headers, body = service.asked[0]
    assert (method, path, body) == ("POST", "/api/v1/enforcer/exchange", b'{"ios": 1}')
    assert headers["Authorization"] == "Bearer secret-token"


def test_exchange_is_given_up_sooner_than_all_else(
    service: WebService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("enforcers.client.EXCHANGE_TIMEOUT_S", 0.3)
    service.write = lambda _: time.sleep(20)
    started = time.monotonic()

    with pytest.raises(ServerError) as error:
        client(service.url, timeout_s=60.0).exchange(b"{}")

    assert time.monotonic() - started < 10
    assert not error.value.is_final


def test_answer_that_never_ends_is_refused(service: WebService) -> None:
    def floods(answering: BaseHTTPRequestHandler) -> None:
        answering.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")
        for _ in range(80):
            answering.wfile.write(bytes(65536))

    service.write = floods

    with pytest.raises(ServerError, match="the answer exceeds 4194304 bytes"):
        client(service.url).fetch_document()


def test_certificate_must_be_trusted(service: WebService) -> None:
    with pytest.raises(ServerError, match="SSL"):
        client(service.url.replace("http:", "https:")).fetch_document()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody but its bearer trusts, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    place = ["-keyout", str(file), "-out", f"{file}.crt", "-subj", "/CN=sluice"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words.split(), *place, *names], check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def test_private_authority_is_trusted_when_it_is_configured(certificate: Path) -> None:
    with web_service(certificate) as service:
        answer = client(service.url, ca_file=certificate).fetch_document()

        assert answer == b"{}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["no authority", "other name"])
def test_certificate_of_a_stranger_is_refused(certificate: Path, host: str) -> None:
    ca_file = certificate if host == "localhost" else None
    with web_service(certificate) as service:
        url = service.url.replace("127.0.0.1", host)

        with pytest.raises(ServerError, match="CERTIFICATE_VERIFY_FAILED"):
            client(url, ca_file=ca_file).fetch_document()

        assert service.asked == []


def test_certificates_are_verified_with_their_host_name() -> None:
    tls = client("https://sluice.example")._http._tls

    assert tls is not None
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_authority_file_of_no_use_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")

    with pytest.raises(ConfigError, match=r"server\.ca_file"):
        client("https://sluice.example", ca_file=tmp_path / "ca.pem")
