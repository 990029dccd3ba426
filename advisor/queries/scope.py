"""Where every query that faces a person begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import models

from accounts.models import Organisation

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One person looking at one organisation."""

    user: AbstractBaseUser
    organisation: Organisation

    def rows(self, model: type[models.Model]) -> Any:
        """The model's rows that this person may see in this organisation, as a queryset."""
        return owned(model).visible_to(self.user).filter(organisation=self.organisation)


def owned(model: type[models.Model]) -> Any:
    """The manager of a model whose rows belong to an organisation."""
    return model._default_manager  # noqa: SLF001  its documented name
