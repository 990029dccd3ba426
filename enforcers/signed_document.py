"""Reads the documents that the service signs; of one that it renews, what is new alone.

A document comes with each poll, mostly the very one of before, or that with a later lease. Its
allocations, which are nearly all of it, are then not read again.
"""

from dataclasses import replace

from enforcers.contract import PolicyDocument, decode_document, verify
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
        # What was read last, and where its allocations end.
        self._data = b""
        self._end = 0
        self._document: PolicyDocument | None = None

    def read(self, data: bytes) -> PolicyDocument:
        """The document. Raises ContractError, or SignatureError for one that the key did not sign.

        That it is the one of before shows in that it is the very same object; that it is renewed,
        in its allocations, which are.
        """
        if self._document is not None and data == self._data:
            return self._document
        if not self._is_signed_text(data):
            document = decode_document(data)
            verify(document, self._key)
            return document
        head, mark, tail = data.rpartition(_NEXT)
        former = self._document
        if mark and former is not None and head == memoryview(self._data)[: self._end]:
            renewed = decode_document(b"".join((_ALLOCATIONS, b"[]", mark, tail)))
            document = replace(renewed, allocations=former.allocations)
        else:
            document = decode_document(data)
        if mark and head.startswith(_ALLOCATIONS):
            self._data, self._end, self._document = data, len(head), document
        return document

    def _is_signed_text(self, data: bytes) -> bool:
        """Whether these very bytes were signed; the same in other words has to be put so first."""
        body, mark, given = data.rpartition(_SIGNATURE)
        if not mark or not given.endswith(_END):
            return False
        return is_made_by(self._key, body + b"}", given.removesuffix(_END).decode("latin-1"))
