"""The product on one machine, as a Django app: the commands that start and describe it."""

from django.apps import AppConfig


class ApplianceConfig(AppConfig):
    """Registers `sluice run` and its kind."""

    name = "appliance"
    verbose_name = "Appliance"
