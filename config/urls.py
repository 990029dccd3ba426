"""The URLs of the product: the interfaces for programs, then the pages."""

from django.urls import include, path

urlpatterns = [
    path("", include("ingest.urls")),
    path("", include("web.urls")),
]

handler400 = "web.views.errors.bad_request"
handler403 = "web.views.errors.permission_denied"
handler404 = "web.views.errors.not_found"
handler500 = "web.views.errors.server_error"
