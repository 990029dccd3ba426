"""The tables of organisations, members and tokens get the names that they have in accounts.

The rows stay where they are. From here to `0008` the models move from app to app, and at each
step they fit the tables:

    ingest 0007    renames the tables
    accounts 0001  knows the tables too
    advisor 0012   refers to the organisations of accounts
    ingest 0008    refers to accounts, and no longer knows the tables
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ingest", "0006_add_block_device_numbers")]

    operations = [
        migrations.AlterModelTable("organisation", "accounts_organisation"),
        migrations.AlterModelTable("membership", "accounts_membership"),
        migrations.AlterModelTable("token", "accounts_token"),
    ]
