from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0014_drop_sealed_rows'),
    ]

    operations = [
        migrations.AddField(
            model_name='host',
            name='shared_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
