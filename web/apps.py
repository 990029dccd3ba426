"""Pages for people and the interface for programs."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Registers the app with Django."""

    name = "web"
    verbose_name = "Pages"
