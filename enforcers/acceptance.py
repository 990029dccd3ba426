"""Whether this host may act on a document. Pure."""

from dataclasses import replace
from datetime import datetime, timedelta

from enforcers.contract import PolicyDocument, verify
from enforcers.errors import RefusedDocument

CLOCK_TOLERANCE = timedelta(minutes=5)


def accept(
    document: PolicyDocument,
    *,
    host: str,
    key: bytes,
    held: PolicyDocument | None,
    now: datetime,
) -> datetime:
    """When the lease of an acceptable document ends.

    The lease is never longer than its own length from now on, so that a slow clock here does
    not stretch it. Raises SignatureError or RefusedDocument.
    """
    verify(document, key)
    if document.host != host:
        raise RefusedDocument(f"the document is for host {document.host!r}, this is {host!r}")
    if document.issued_at > now + CLOCK_TOLERANCE:
        raise RefusedDocument(
            f"revision {document.revision} is issued at {document.issued_at:%H:%M:%S} UTC, "
            "which is not yet here; do the clocks agree?"
        )
    if document.expires_at <= now:
        raise RefusedDocument(
            f"revision {document.revision} has expired at {document.expires_at.isoformat()}; "
            "does the service renew it, and do the clocks agree?"
        )
    if held is not None:
        _check_succession(document, held)
    return min(document.expires_at, now + (document.expires_at - document.issued_at))


def _check_succession(document: PolicyDocument, held: PolicyDocument) -> None:
    if document.revision < held.revision:
        raise RefusedDocument(
            f"revision {document.revision} is older than {held.revision}, which is held; to "
            "start over: sluice-enforcer restore"
        )
    if document.revision > held.revision:
        return
    if document.issued_at < held.issued_at:
        raise RefusedDocument(f"an older lease of revision {document.revision} came again")
    # A renewed lease differs in its times, and dry run may be switched; all else is fixed.
    renewed = replace(
        document,
        issued_at=held.issued_at,
        expires_at=held.expires_at,
        dry_run=held.dry_run,
        signature=held.signature,
    )
    if renewed != held:
        raise RefusedDocument(
            f"revision {document.revision} has another content than the one held"
        )
