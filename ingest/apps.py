"""Samples in: decode, normalise, write, read."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registers the app with Django."""

    name = "ingest"
    verbose_name = "Samples"
