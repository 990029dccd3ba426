from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('advisor', '0037_follow_what_is_found'),
    ]

    operations = [
        migrations.AddField(
            model_name='compliancerecord',
            name='controls',
            field=models.JSONField(help_text='Outcome and reason of each control', null=True),
        ),
        migrations.AlterField(
            model_name='compliancerecord',
            name='outcome',
            field=models.CharField(max_length=16),
        ),
    ]
