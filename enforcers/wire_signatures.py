"""Signatures on the wire: which kind an agent reads, and how it signs its reports."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from enforcers import ed25519
from enforcers.contract import (
    DOCUMENT_MEDIA,
    PolicyDocument,
    canonical_bytes,
    decode_document,
    encode_document,
)
from enforcers.errors import ContractError
from enforcers.signature import SignatureKind as SignatureKind  # noqa: PLC0414  (part of the wire)
from enforcers.signature import ed25519_message

REPORT_HEADER = "Sluice-Report-Signature"
"""`number=N, ed25519=HEX`: the signature of N and the body by the host's own key."""
NEWEST_NUMBER = "newest_number"
"""In the refusal of a replayed report: the newest number that the service took from this host."""
_REPORT_CONTEXT = b"sluice compliance report ed25519\n"
_REPORT_FORM = re.compile(r"number=([1-9][0-9]{0,18}), ed25519=([0-9a-f]{128})")
MOST_NUMBER = 2**63 - 1


def document_media(kind: SignatureKind) -> str:
    """What an agent says in its header Accept: the documents and the signatures that it reads."""
    return f"{DOCUMENT_MEDIA}; signature={kind}"


def signature_kind(accept: str) -> SignatureKind:
    """The kind of signature that an agent with this header reads; HMAC where it says none."""
    said = re.search(r"\bsignature=([a-z0-9-]{1,40})\b", accept)
    known = said is not None and said[1] == SignatureKind.ED25519
    return SignatureKind.ED25519 if known else SignatureKind.HMAC


def sign_by(document: PolicyDocument, signer: Callable[[bytes], bytes]) -> PolicyDocument:
    """The document as the host will read it, signed by whoever has the secret key of Ed25519.

    A number given as 100 is read as 100.0, and other bytes would have another signature.
    """
    as_read = decode_document(encode_document(document))
    made = signer(ed25519_message(canonical_bytes(as_read)))
    return replace(as_read, signature=made.hex())


def signed_document(message: bytes) -> PolicyDocument | None:
    """The document that a message to be signed is of; None if it is of nothing else.

    Raises ContractError for one that no agent would read.
    """
    context = ed25519_message(b"")
    if not message.startswith(context):
        return None
    body = message.removeprefix(context)
    document = decode_document(body.removesuffix(b"}") + b',"signature":null}')
    return document if canonical_bytes(document) == body else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSignature:
    """What came beside a report; numbers of one host only grow, so none comes twice."""

    number: int
    signature: bytes


def signed_report(body: bytes, *, number: int, secret: bytes) -> str:
    """The header beside a report, by the host's own secret key."""
    signature = ed25519.sign(report_message(body, number=number), secret)
    return f"number={number}, ed25519={signature.hex()}"


def read_report_signature(header: str) -> ReportSignature:
    """The header in its parts. Raises ContractError for any other text."""
    found = _REPORT_FORM.fullmatch(header)
    if found is None or int(found[1]) > MOST_NUMBER:
        raise ContractError("$", f"the header {REPORT_HEADER} must be number=N, ed25519=HEX")
    return ReportSignature(number=int(found[1]), signature=bytes.fromhex(found[2]))


def newest_number_in(answer: bytes) -> int | None:
    """The newest number that a refusal tells, if it is one that numbers can go on from."""
    try:
        told = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    number = told.get(NEWEST_NUMBER) if isinstance(told, dict) else None
    # Above half of all numbers somebody else speaks: a clock counts microseconds since 1970.
    return number if type(number) is int and 0 < number < MOST_NUMBER // 2 else None


def report_message(body: bytes, *, number: int) -> bytes:
    """What is signed for a report."""
    return b"%b%d\n%b" % (_REPORT_CONTEXT, number, body)
