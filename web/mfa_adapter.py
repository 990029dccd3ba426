"""Seeds of second factors are stored sealed, as all secrets are."""

from __future__ import annotations

from allauth.mfa.adapter import DefaultMFAAdapter

from accounts.sealing import seal, unseal


class SealingMfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises Unsealable."""
        return unseal(encrypted_text)
