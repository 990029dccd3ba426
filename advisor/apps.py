"""The advisor: detect, recommend, publish, verify."""

from django.apps import AppConfig


class AdvisorConfig(AppConfig):
    """Registers the app with Django."""

    name = "advisor"
    verbose_name = "Advice"
