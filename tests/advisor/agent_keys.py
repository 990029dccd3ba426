"""What the agent of an enrolled host has, and how it was before agents had keys of their own."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

from advisor.decisions.documents import current_document
from advisor.decisions.enrolment import Enrolment
from advisor.decisions.signing.documents import signed_for
from advisor.models import AgentKey, Enforcer
from enforcers.contract import PolicyDocument
from enforcers.signature import ServerKey, SignatureKind
from enforcers.wire_signatures import REPORT_HEADER, signed_report

SECRET = "5b" * 32
"""What a host shares that was enrolled before."""
_NUMBERS = count(1)


def document_key(enrolment: Enrolment) -> ServerKey:
    """By what the agent knows its documents."""
    return ServerKey(public=bytes.fromhex(enrolment.server_key.removeprefix("ed25519-public:")))


def report_secret(enrolment: Enrolment) -> bytes:
    """By what the agent signs its reports."""
    return bytes.fromhex(enrolment.report_key.removeprefix("ed25519-secret:"))


def report_headers(enrolment: Enrolment, body: bytes, number: int | None = None) -> dict[str, str]:
    """What the agent sends beside a report; numbers grow by themselves."""
    used = next(_NUMBERS) if number is None else number
    secret = report_secret(enrolment)
    return {REPORT_HEADER: signed_report(body, number=used, secret=secret)}


def signed_document(enrolment: Enrolment, *, now: datetime, **more: Any) -> PolicyDocument:
    """The document as the agent gets it."""
    host = enrolment.host
    document = current_document(host=host, now=now, **more)
    key = AgentKey.objects.filter(host=host).latest("pk")
    return signed_for(document, host=host, key=key, kind=SignatureKind.ED25519)


def share_secret(enrolment: Enrolment) -> bytes:
    """As if the host had been enrolled by the release before; the secret that it has."""
    AgentKey.objects.filter(host=enrolment.host).delete()
    Enforcer.objects.filter(host=enrolment.host).update(signing_key=SECRET)
    return SECRET.encode()
