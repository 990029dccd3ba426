"""Who signs documents: keys of hosts from a secret of the server, and the process that has it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from binascii import b2a_base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.core.signing_keys import KeyGone, KeyName, Keyring
from advisor.core.signing_rules import refusal
from advisor.decisions.signing.serving import SigningServer, answer
from advisor.decisions.signing.signer import RemoteSigner, SignerUnavailable
from enforcers import ed25519
from enforcers.contract import PolicyDocument
from enforcers.signature import SignatureKind, ed25519_message, kind_of
from enforcers.wire_signatures import report_message, sign_by
from tests.enforcers.policies import KEY, NOON, document, vnic

OLD, NEW = "old secret of at least 32 characters", "new secret of at least 32 characters"
H1 = KeyName(organisation=1, host="h1", salt="ab" * 16)
DOCUMENT = document(vnic(1, 10e6))
NAMES = st.builds(
    KeyName,
    organisation=st.integers(0, 10**9),
    host=st.text(max_size=12),
    salt=st.text("0a", max_size=4),
)


def message_of(given_document: PolicyDocument) -> bytes:
    said: list[bytes] = []
    sign_by(given_document, lambda message: said.append(message) or bytes(64))  # type: ignore[func-returns-value]  # both are wanted
    return said[0]


@given(NAMES, NAMES)
@settings(max_examples=60)
def test_each_host_has_a_key_of_its_own(one: KeyName, other: KeyName) -> None:
    ring = Keyring([NEW])

    assert (ring.public(one) == ring.public(other)) is (one == other)


@pytest.mark.parametrize(
    "other",
    [replace(H1, organisation=2), replace(H1, host="h2"), replace(H1, salt="cd" * 16)],
    ids=["another organisation", "another host", "another enrolment"],
)
def test_key_of_another_never_signs_for_this_host(other: KeyName) -> None:
    ring = Keyring([NEW])
    public = ring.public(H1)

    with pytest.raises(KeyGone):
        ring.sign(other, b"message", public=public)
    signature = ring.sign(other, b"message", public=ring.public(other))
    assert not ed25519.is_signed(b"message", signature, public)
    assert ed25519.is_signed(b"message", ring.sign(H1, b"message", public=public), public)


def test_new_secret_makes_new_keys_and_old_ones_still_sign() -> None:
    public = Keyring([OLD]).public(H1)
    both = Keyring([NEW, OLD])

    signature = both.sign(H1, b"message", public=public)

    assert ed25519.is_signed(b"message", signature, public)
    assert both.public(H1) != public


def test_lost_secret_is_said_with_what_to_do() -> None:
    public = Keyring([OLD]).public(H1)

    with pytest.raises(KeyGone, match=r"h1 of organisation 1 .* backup.*enroll --rotate"):
        Keyring([NEW]).sign(H1, b"message", public=public)


@pytest.mark.parametrize("words", [[], ["short"], [NEW, ""]], ids=["none", "short", "empty one"])
def test_secret_of_no_use_is_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match="at least 32 characters"):
        Keyring(words)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (message_of(DOCUMENT), None),
        (message_of(replace(DOCUMENT, issued_at=NOON - timedelta(seconds=50))), None),
        (message_of(replace(DOCUMENT, host="h2")), 'a document for "h2" is not signed by'),
        (message_of(replace(DOCUMENT, issued_at=NOON - timedelta(minutes=2))), "is dated"),
        (
            message_of(
                replace(
                    DOCUMENT,
                    issued_at=NOON + timedelta(minutes=2),
                    expires_at=NOON + timedelta(minutes=9),
                )
            ),
            "is dated",
        ),
        (
            message_of(replace(DOCUMENT, expires_at=NOON + timedelta(days=1, seconds=1))),
            "longer than 1 day",
        ),
        (report_message(b"{}", number=1), "no policy document"),
        (b"anything", "no policy document"),
    ],
    ids=["now", "a moment ago", "another host", "old", "for later", "long", "report", "bytes"],
)
def test_only_documents_of_this_host_and_now_are_signed(
    message: bytes, reason: str | None
) -> None:
    found = refusal(message, host="h1", now=NOON)

    assert (found is None) if reason is None else (reason in (found or ""))


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[]", b"1", b"{}", b'{"organisation": 1}', b"\xff",
        b'{"organisation": 1, "host": "h1", "salt": "a", "message": "?", "public": ""}',
        b'{"organisation": 1, "host": "h1", "salt": "a", "message": "", "public": ""}',
        json.dumps(
            {
                "organisation": 1, "host": "h1", "salt": "a", "public": "",
                "message": b2a_base64(ed25519_message(b"{}")).decode(),
            }
        ).encode(),
    ],
)  # fmt: skip
def test_question_of_no_use_is_refused(line: bytes) -> None:
    found = answer(line, Keyring([NEW]), NOON)

    assert set(found) == {"refused"}
    assert NEW not in str(found)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s") / "signer.sock"


@pytest.fixture
def signer(place: Path) -> Iterator[RemoteSigner]:
    """A signer in a thread, at noon."""
    with SigningServer(place, Keyring([NEW]), lambda: NOON) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield RemoteSigner(place)
        server.shutdown()
        thread.join()


def test_web_server_asks_the_signer_and_has_no_key(signer: RemoteSigner, place: Path) -> None:
    public = signer.public(H1)

    signed = sign_by(DOCUMENT, lambda message: signer.sign(H1, message, public=public))

    assert public == Keyring([NEW]).public(H1)
    assert signed == sign_by(
        DOCUMENT, lambda message: Keyring([NEW]).sign(H1, message, public=public)
    )
    assert kind_of(KEY) is SignatureKind.HMAC
    assert oct(place.stat().st_mode)[-3:] == "600"


def test_signer_says_no_by_socket_too(signer: RemoteSigner) -> None:
    public = signer.public(H1)

    with pytest.raises(SignerUnavailable, match="no policy document"):
        signer.sign(H1, b"anything", public=public)
    with pytest.raises(KeyGone, match="enroll --rotate"):
        signer.sign(H1, message_of(DOCUMENT), public=Keyring([OLD]).public(H1))


def test_who_says_nothing_holds_up_nobody(signer: RemoteSigner, place: Path) -> None:
    silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for one in silent:
        one.connect(str(place))

    assert signer.public(H1) == Keyring([NEW]).public(H1)

    for one in silent:
        one.close()


def test_absent_signer_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SignerUnavailable, match=r"does not answer.*appliance\.signer"):
        RemoteSigner(tmp_path / "none").public(H1)


def test_signer_is_a_process_without_a_database(place: Path) -> None:
    """It begins after a killed one too, signs, hides its memory, and ends at SIGTERM."""
    place.touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "appliance.signer", f"--socket={place}"],
        env={
            "PATH": os.environ["PATH"],
            "SLUICE_SIGNING_KEYS": NEW.replace(" ", "-"),
            "SLUICE_DATA_DIR": str(place.parent),
        },
    )
    signer = RemoteSigner(place)
    try:
        public = _first_answer(signer)
        now = datetime.now(UTC)
        dated = replace(DOCUMENT, issued_at=now, expires_at=now + timedelta(minutes=15))
        signed = sign_by(dated, lambda message: signer.sign(H1, message, public=public))
        loaded = Path(f"/proc/{process.pid}/status").read_text()
        owner = Path(f"/proc/{process.pid}/environ").stat().st_uid
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0

    assert ed25519.is_signed(message_of(dated), bytes.fromhex(signed.signature or ""), public)
    # The files of a process whose memory is hidden belong to root.
    assert owner == 0
    assert int(loaded.split("VmRSS:")[1].split()[0]) < 60_000
    assert not place.exists()


def _first_answer(signer: RemoteSigner) -> bytes:
    deadline = time.monotonic() + 60
    while True:
        try:
            return signer.public(H1)
        except SignerUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
