"""An owner is above admins; the only admin of an organisation becomes its owner."""

from django.db import migrations, models
from django.db.models import Count


def make_owners(apps, schema_editor):
    Membership = apps.get_model("accounts", "Membership")
    alone = (
        Membership.objects.filter(role="admin")
        .values("organisation")
        .annotate(admins=Count("pk"))
        .filter(admins=1)
        .values("organisation")
    )
    Membership.objects.filter(role="admin", organisation__in=list(
        row["organisation"] for row in alone
    )).update(role="owner")


def make_admins(apps, schema_editor):
    apps.get_model("accounts", "Membership").objects.filter(role="owner").update(role="admin")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_add_quotas")]

    operations = [
        migrations.AlterField(
            "membership",
            "role",
            models.CharField(
                choices=[
                    ("viewer", "Viewer"),
                    ("operator", "Operator"),
                    ("admin", "Admin"),
                    ("owner", "Owner"),
                ],
                default="viewer",
                max_length=10,
            ),
        ),
        migrations.RunPython(make_owners, make_admins),
    ]
