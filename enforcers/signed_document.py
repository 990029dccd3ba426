"""Reads the documents that the service signs; of one that it renews, what is new alone.

A document comes with each poll, mostly the former one with a later lease. Its allocations, which
are nearly all of it, are then not read again.
"""

from dataclasses import replace

from enforcers.contract import Allocation, PolicyDocument, decode_document, verify
from enforcers.signature import DocumentKey, is_made_by

_ALLOCATIONS = b'{"allocations":'
# The key after the allocations; no other object of a document has it, and no text within quotes
# can hold it.
_NEXT = b',"dry_run":'
_SIGNATURE = b',"signature":"'
_END = b'"}'


class DocumentReader:
    """Reads documents that were signed for this host."""

    def __init__(self, key: DocumentKey) -> None:
        self._key = key
        self._text = b""
        self._allocations: tuple[Allocation, ...] = ()

    def read(self, data: bytes) -> PolicyDocument:
        """The document. Raises ContractError, or SignatureError for one that the key did not sign.

        That a document is renewed shows in its allocations: they are the very same objects.
        """
        if not self._is_signed_text(data):
            document = decode_document(data)
            verify(document, self._key)
            return document
        head, mark, tail = data.rpartition(_NEXT)
        if mark and head == self._text:
            renewed = decode_document(b"".join((_ALLOCATIONS, b"[]", mark, tail)))
            return replace(renewed, allocations=self._allocations)
        document = decode_document(data)
        if mark and head.startswith(_ALLOCATIONS):
            self._text, self._allocations = head, document.allocations
        return document

    def _is_signed_text(self, data: bytes) -> bool:
        """Whether these very bytes were signed; the same in other words has to be put so first."""
        body, mark, given = data.rpartition(_SIGNATURE)
        if not mark or not given.endswith(_END):
            return False
        return is_made_by(self._key, body + b"}", given.removesuffix(_END).decode("latin-1"))
