"""Whether a report is that of the host's agent: signed by the host's own key, and not yet seen.

Who has the agent's token alone, such as whoever reads the traffic behind a proxy that ends TLS,
can neither make a report up, nor change one, nor send an old one again.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from psycopg.types.numeric import Int8

from advisor.errors import ReportRefused, ReportReplayed
from advisor.models import AgentKey
from enforcers.wire_signatures import (
    NEWEST_NUMBER,
    REPORT_HEADER,
    read_report_signature,
    report_message,
)
from ingest.binary_cursor import prepared_cursor

_TAKE = """
    UPDATE advisor_agentkey SET newest_number = %(number)s
     WHERE id = %(key)s AND newest_number < %(number)s
"""


def check_signature(body: bytes, *, header: str, key: AgentKey) -> int:
    """The report's number, not taken yet.

    Raises ReportRefused for a report that is unsigned or altered, ContractError for a header of
    another form.
    """
    host = key.host.name
    if not header:
        raise ReportRefused(
            f"the report is unsigned, and {host} has a key for its reports; "
            f"it belongs into the header {REPORT_HEADER}"
        )
    signed = read_report_signature(header)
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.report_key)).verify(
            signed.signature, report_message(body, number=signed.number)
        )
    except InvalidSignature:
        raise ReportRefused(
            f"the report was altered, or signed by another key than that of {host}"
        ) from None
    return signed.number


def take_number(number: int, *, key: AgentKey) -> None:
    """So that no report comes twice; ReportReplayed for one whose number is not above the newest.

    It tells the agent the newest number, for one whose clock was ahead has to go on from there.
    Whoever repeats a report cannot: another number takes another signature.
    """
    with prepared_cursor() as cursor:
        cursor.execute(_TAKE, {"number": Int8(number), "key": Int8(key.pk)})
        if cursor.rowcount:
            return
    newest = AgentKey.objects.values_list("newest_number", flat=True).get(pk=key.pk)
    raise ReportReplayed(
        f"the report is replayed: one of {key.host.name} with number {newest} was taken already, "
        f"and this one has {number}",
        details={NEWEST_NUMBER: newest},
    )
