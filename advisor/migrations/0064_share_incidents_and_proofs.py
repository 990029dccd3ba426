"""A link opens an incident or a proof too."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('advisor', '0063_send_reports_once'),
    ]

    operations = [
        migrations.AddField(
            model_name='sharedreport',
            name='kind',
            field=models.CharField(choices=[('report', 'Report'), ('incident', 'Incident'), ('proof', 'Proof')], db_default=models.Value('report'), default='report', max_length=10),
        ),
    ]
