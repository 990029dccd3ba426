"""The addresses of the wire that Telegraf speaks."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
