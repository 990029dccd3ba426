"""The addresses that the ingest app answers."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
