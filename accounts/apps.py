"""Access: organisations, their members, and the tokens of programs."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from accounts.database_times import read_times_at_once


class AccountsConfig(AppConfig):
    """Registers the app with Django."""

    name = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        """Set up every connection to the database."""
        connection_created.connect(read_times_at_once)
