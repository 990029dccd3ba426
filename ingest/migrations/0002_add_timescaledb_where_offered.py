"""Installs the TimescaleDB extension where the server has it loaded and this user may do so.

Everything works without it: the next migration asks what is there.
"""

from django.db import migrations


def create_extension(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'timescaledb')
               AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb')
               -- Others may not even ask for the setting.
               AND CASE WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
                   THEN current_setting('shared_preload_libraries') ~ '\\ytimescaledb\\y'
                   ELSE false END
            """
        )
        (offered,) = cursor.fetchone()
        if offered:
            cursor.execute("CREATE EXTENSION timescaledb")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_add_inventory")]

    # The extension stays when this is undone: other tables of the database may use it.
    operations = [migrations.RunPython(create_extension, migrations.RunPython.noop)]
