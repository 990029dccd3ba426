"""What the signer signs: a policy document of this host, dated now, for a lease that is short."""

from __future__ import annotations

from datetime import datetime, timedelta

from enforcers.wire_signatures import signed_document

MOST_LEASE = timedelta(days=1)
CLOCK_TOLERANCE = timedelta(minutes=1)
"""The signer and who asks run on one machine; a document may have waited a little."""


def refusal(message: bytes, *, host: str, now: datetime) -> str | None:
    """Why this is not signed; None if it is. Raises ContractError for a broken document."""
    document = signed_document(message)
    if document is None:
        return "this is no policy document"
    if document.host != host:
        return f'a document for "{document.host}" is not signed by the key of "{host}"'
    if abs(document.issued_at - now) > CLOCK_TOLERANCE:
        return (
            f"the document is dated {document.issued_at.isoformat()}, and it is {now.isoformat()}"
        )
    if document.expires_at - document.issued_at > MOST_LEASE:
        return f"the lease is longer than {MOST_LEASE.days} day"
    return None
