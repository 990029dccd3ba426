"""A column of a secret: encrypted in the database, and opened when somebody reads it of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.query_utils import DeferredAttribute

from accounts.sealing import Sealed, seal, unseal

if TYPE_CHECKING:
    _TextField = models.TextField[str, str]
else:
    _TextField = models.TextField


class _Opened(DeferredAttribute):
    """The secret, opened when it is asked for: a row whose key is lost can still be shown."""

    def __get__(self, instance: Any, cls: type[Any] | None = None) -> Any:
        found = super().__get__(instance, cls)
        return unseal(found.stored) if isinstance(found, Sealed) else found

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


class SealedTextField(_TextField):
    """A text that is stored sealed; an empty one says that there is none, and stays empty.

    It cannot be searched for: the same secret is sealed in another way each time.
    """

    descriptor_class = _Opened

    def from_db_value(self, value: str | None, *_: Any) -> Sealed | str | None:
        """What a query gives is still sealed; the attribute of a row is not."""
        return Sealed(value) if value else value

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, Sealed):
            return value.stored
        return seal(value) if value else value

    def pre_save(self, model_instance: models.Model, *_: Any, **__: Any) -> Any:
        """As it is there: what was read and not changed is stored as it was."""
        return model_instance.__dict__.get(self.attname)
