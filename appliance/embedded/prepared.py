"""What is done with the database before the product starts; the models are loaded for it alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from appliance.embedded.child import ChildSpec
from appliance.embedded.errors import EmbeddedError
from config.paths import DataDir


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLogin:
    """A log-in that was just made; the password is stored as a hash only."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The first log-in of a new database, the local reader, and what a person should know."""

    login: NewLogin | None
    reader: ChildSpec | None
    warning: str


def prepare_database(data: DataDir, *, with_reader: bool) -> Prepared:
    """Bring the tables up to date, and make what a new database starts with.

    Raises EmbeddedError with what failed and what to do.
    """
    from django.core.management import call_command
    from django.db import DatabaseError, OperationalError, connection

    from accounts.sealed_columns import lost_secrets
    from appliance.embedded.first_run import create_first_login
    from appliance.embedded.local_reader import local_reader

    try:
        connection.ensure_connection()
    except OperationalError as error:
        raise EmbeddedError(f"the database of DATABASE_URL does not answer: {error}") from error
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        raise EmbeddedError(
            f"the tables cannot be brought up to date: {error}\n"
            "nothing is lost; `sluice migrate --traceback` shows the step that failed"
        ) from error
    warning = ""
    if lost := lost_secrets():
        warning = (
            f"{lost} secrets in the database were encrypted by a key that is not here; "
            "sluice secrets check says which, docs/operations.md (Keys) what to do"
        )
    login = create_first_login()
    return Prepared(
        login=login, reader=local_reader(data) if with_reader else None, warning=warning
    )
