"""A signer whose secret key a guest may have, so that the service there signs for its host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from advisor.core.signing_keys import KeyName
from enforcers import ed25519

SECRET = bytes(range(32))


class FixedSigner:
    """One key for every host: each guest has one host."""

    def public(self, name: KeyName) -> bytes:
        return ed25519.public_key(SECRET)


@contextmanager
def known_to_guests() -> Iterator[str]:
    """Within, hosts are enrolled for documents by this key; the word by which a guest signs."""
    with mock.patch("advisor.decisions.enrolment.find_signer", return_value=FixedSigner()):
        yield f"ed25519-secret:{SECRET.hex()}"
