"""Where every query that faces a person begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from django.db import models

from accounts.models import Organisation
from accounts.models.organisation import OrganisationOwnedQuerySet
from advisor.models.recommendation import Recommendation, RecommendationQuerySet

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One person looking at one organisation."""

    user: AbstractBaseUser
    organisation: Organisation

    def rows(self, model: type[Row]) -> OrganisationOwnedQuerySet[Row]:
        """The model's rows that this person may see in this organisation, as a queryset."""
        return owned(model).visible_to(self.user).filter(organisation=self.organisation)

    def recommendations(self) -> RecommendationQuerySet:
        """The recommendations among them, with what can be asked of those."""
        rows = self.rows(Recommendation)
        assert isinstance(rows, RecommendationQuerySet)
        return rows


def owned(model: type[Row]) -> OrganisationOwnedQuerySet[Row]:
    """All rows of a model whose rows belong to an organisation."""
    rows = model._default_manager.all()  # noqa: SLF001  its documented name
    assert isinstance(rows, OrganisationOwnedQuerySet), model
    return rows
