"""The addresses that the web app answers."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
