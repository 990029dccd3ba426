"""Organisations and tokens are those of accounts; no table changes."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_take_over_from_ingest"),
        # While advisor refers to the organisations of ingest, they cannot go.
        ("advisor", "0012_refer_to_accounts"),
        ("ingest", "0007_give_tables_of_access_to_accounts"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "host",
                    "organisation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="hosts", to="accounts.organisation"),
                ),
                migrations.AlterField(
                    "series",
                    "organisation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="series", to="accounts.organisation"),
                ),
                migrations.AlterField(
                    "rejectedline",
                    "organisation",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="accounts.organisation"),
                ),
                migrations.AlterField(
                    "rejectedline",
                    "token",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="accounts.token"),
                ),
                migrations.DeleteModel("Token"),
                migrations.DeleteModel("Membership"),
                migrations.DeleteModel("Organisation"),
            ]
        )
    ]
