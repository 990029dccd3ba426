"""Join tokens, which end and go with their organisation as other tokens do."""

from importlib import import_module
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

_BEFORE = import_module("accounts.migrations.0014_delete_organisations_by_function")
_TOKENS_END = "    DELETE FROM accounts_invitation WHERE organisation_id = which;\n"
CLOSE = _BEFORE.CLOSE.replace(
    _TOKENS_END,
    "    UPDATE accounts_jointoken SET revoked_at = now()\n"
    "        WHERE organisation_id = which AND revoked_at IS NULL;\n" + _TOKENS_END,
)
DELETE = _BEFORE.DELETE.replace(
    _TOKENS_END, "    DELETE FROM accounts_jointoken WHERE organisation_id = which;\n" + _TOKENS_END
)


def replace_functions(schema_editor: Any, *texts: str) -> None:
    """Rights stay as they are where a function is replaced."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        for text in texts:
            replaced = text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
            cursor.execute(replaced.replace("SCHEMA", schema))


def with_join_tokens(_: Any, schema_editor: Any) -> None:
    replace_functions(schema_editor, CLOSE, DELETE)


def without_join_tokens(_: Any, schema_editor: Any) -> None:
    replace_functions(schema_editor, _BEFORE.CLOSE, _BEFORE.DELETE)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_delete_organisations_by_function'),
    ]

    operations = [
        migrations.CreateModel(
            name='JoinToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('runs', models.CharField(choices=[('service', 'Service'), ('foreground', 'Foreground')], max_length=10)),
                ('mode', models.CharField(choices=[('observe', 'Observe'), ('enforce', 'Enforce')], max_length=10)),
                ('collects', models.CharField(choices=[('reader', 'Reader'), ('telegraf', 'Telegraf')], max_length=10)),
                ('host_name', models.CharField(blank=True, max_length=253)),
                ('most_hosts', models.PositiveSmallIntegerField()),
                ('hosts_joined', models.PositiveSmallIntegerField(default=0)),
                ('made_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='join_tokens', to='accounts.organisation')),
            ],
            options={
                'ordering': ['organisation', '-created_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('hosts_joined__lte', models.F('most_hosts'))), name='no_more_hosts_join_than_may')],
            },
        ),
        migrations.RunPython(with_join_tokens, without_join_tokens),
    ]
