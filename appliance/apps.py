"""The wiring as a Django app: it holds the commands that start and describe the product."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Registers `sluice run` and its kind."""

    name = "config"
    verbose_name = "Wiring"
