"""Pages for people and the interface for programs."""

from django.apps import AppConfig
from django.conf import settings
from django.contrib.auth.signals import user_logged_in

from web.idle_sessions import note_login
from web.replica import own_changes


class WebConfig(AppConfig):
    """Registers the app with Django."""

    name = "web"
    verbose_name = "Pages"

    def ready(self) -> None:
        """Note when people log in."""
        user_logged_in.connect(note_login)
        if settings.HAS_REPLICA:
            user_logged_in.connect(own_changes.note_login)
