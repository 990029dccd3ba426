"""Organisations, members and tokens; their tables exist, so the database is left as it is.

Content types move along, so that permissions that were given on these models stay given.
"""

from functools import partial

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

MODELS = ("organisation", "membership", "token")


def move_content_types(apps, schema_editor, *, source, target):
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(
        schema_editor.connection.alias
    )
    for model in MODELS:
        if not content_types.filter(app_label=target, model=model).exists():
            content_types.filter(app_label=source, model=model).update(app_label=target)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("ingest", "0007_give_tables_of_access_to_accounts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Organisation",
                    fields=[
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("slug", models.SlugField(unique=True)),
                        ("name", models.CharField(max_length=200)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={"ordering": ["slug"]},
                ),
                migrations.CreateModel(
                    name="Membership",
                    fields=[
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("role", models.CharField(choices=[("viewer", "Viewer"), ("operator", "Operator"), ("admin", "Admin")], default="viewer", max_length=10)),
                        ("organisation", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="accounts.organisation")),
                        ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        "ordering": ["organisation", "user"],
                        "constraints": [models.UniqueConstraint(fields=("organisation", "user"), name="one_role_per_member")],
                    },
                ),
                migrations.CreateModel(
                    name="Token",
                    fields=[
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("name", models.CharField(max_length=100)),
                        ("scope", models.CharField(choices=[("ingest", "Ingest"), ("enforce", "Enforce"), ("read", "Read"), ("write", "Write")], max_length=10)),
                        ("digest", models.CharField(max_length=64, unique=True)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("expires_at", models.DateTimeField(blank=True, null=True)),
                        ("revoked_at", models.DateTimeField(blank=True, null=True)),
                        ("last_used_at", models.DateTimeField(blank=True, null=True)),
                        ("host", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="ingest.host")),
                        ("organisation", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to="accounts.organisation")),
                    ],
                    options={"ordering": ["organisation", "name", "pk"]},
                ),
            ],
        ),
        migrations.RunPython(
            partial(move_content_types, source="ingest", target="accounts"),
            partial(move_content_types, source="accounts", target="ingest"),
        ),
    ]
