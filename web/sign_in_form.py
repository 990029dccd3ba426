"""The form of the login page."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import LoginForm


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth has no types
    """allauth's form in our words; browsers fill it in by `username`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = self.fields["login"]
        name.label = "Username or e-mail"
        name.widget.attrs = {
            "autocomplete": "username",
            "autocapitalize": "none",
            "autofocus": True,
            "maxlength": 254,
        }
        self.fields["password"].help_text = ""
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)

    def full_clean(self) -> None:
        """Which of the two is wrong is told to nobody, so both are marked."""
        super().full_clean()
        if self.errors:
            for field in self.fields.values():
                field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": "form-error"}
