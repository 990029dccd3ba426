"""Advice is the longest text that is stored: lz4 takes a fifth of the time for it. How often a
limit held something back is kept with what waited, from which bursts are told.
"""

from django.db import migrations, models


def _set(method: str) -> str:
    # A server may be built without lz4.
    return f"""
        DO $$ BEGIN
            IF (SELECT 'lz4' = ANY(enumvals) FROM pg_settings
                 WHERE name = 'default_toast_compression') THEN
                ALTER TABLE advisor_recommendation
                    ALTER COLUMN inputs SET COMPRESSION {method},
                    ALTER COLUMN answer SET COMPRESSION {method};
            END IF;
        END $$
    """


class Migration(migrations.Migration):
    dependencies = [("advisor", "0050_add_teams")]

    operations = [
        migrations.RunSQL(_set("lz4"), _set("default")),
        migrations.AddField(
            model_name="compliancerecord",
            name="overlimits",
            field=models.BigIntegerField(null=True),
        ),
    ]
