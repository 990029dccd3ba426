from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0015_add_join_tokens'),
    ]

    operations = [
        migrations.AddField(
            model_name='organisation',
            name='is_sample',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='membership',
            name='tour_step',
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='membership',
            name='tour_closed',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
