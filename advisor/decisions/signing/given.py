"""What an agent is given when it asks: the signed document, often the very one of the time before.

An agent asks each few seconds, and its document seldom changes, so that it is neither read nor
written nor signed anew each time. A lease counts from a round moment, so that it is
the same document until the next one, whichever web server is asked: an agent refuses a lease that
is older than its own.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from threading import Lock

from advisor.decisions.asking_agent import AskingAgent
from advisor.decisions.document_sources import HeldDocument
from advisor.decisions.documents import current_document, held_document, leased
from advisor.decisions.signing.documents import signed_for
from enforcers.contract import document_version, encode_document
from enforcers.wire_signatures import SignatureKind, signature_kind

LONGEST_S, PART_OF_LEASE = 30, 30
"""A document is given for so long, and for no longer than this part of its lease."""
MOST_BYTES = 32 * 1024 * 1024
"""Of documents that a process keeps; one for a host with ten workloads has 4 kB."""

Facts = tuple[HeldDocument, int, datetime]
"""What a document says, in which version, and from when its lease counts."""


class GivenDocuments:
    """The newest signed document of each key; those that nobody asked for longest go first."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._lock = Lock()
        self._given: OrderedDict[int, tuple[Facts, bytes]] = OrderedDict()

    def find(self, key: int, facts: Facts) -> bytes | None:
        """The document, if it was given to this key and still says all of this."""
        given = self._given.get(key)
        return given[1] if given is not None and given[0] == facts else None

    def keep(self, key: int, facts: Facts, document: bytes) -> None:
        """Remember a document in place of the former one of its key."""
        with self._lock:
            if (former := self._given.pop(key, None)) is not None:
                self._bytes -= _size(*former)
            self._given[key] = (facts, document)
            self._bytes += _size(facts, document)
            while self._bytes > self._most_bytes:
                _, oldest = self._given.popitem(last=False)
                self._bytes -= _size(*oldest)


_GIVEN = GivenDocuments()


def given_document(agent: AskingAgent, *, accept: str, now: datetime) -> bytes:
    """The signed document of the host whose agent asks with this header Accept.

    Raises what `signing.documents.signed_for` does.
    """
    host, key, kind = agent.host, agent.key, signature_kind(accept)
    version = document_version(accept)
    if key is None or kind is not SignatureKind.ED25519:
        document = current_document(host=host, now=now, schema_version=version)
        return encode_document(signed_for(document, host=host, key=key, kind=kind))
    held = held_document(host=host, now=now)
    facts = (held, version, round_moment(now, held.lease_s))
    if (found := _GIVEN.find(key.pk, facts)) is not None:
        return found
    document = leased(held, host=host, issued_at=facts[2], schema_version=version)
    given = encode_document(signed_for(document, host=host, key=key, kind=kind))
    _GIVEN.keep(key.pk, facts, given)
    return given


def round_moment(now: datetime, lease_s: int) -> datetime:
    """From when a lease counts: the same for all who ask until the next such moment."""
    each_s = max(1, min(LONGEST_S, lease_s // PART_OF_LEASE))
    return datetime.fromtimestamp(int(now.timestamp()) // each_s * each_s, UTC)


def _size(facts: Facts, document: bytes) -> int:
    return len(facts[0].text) + len(document)
