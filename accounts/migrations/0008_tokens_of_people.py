"""The scopes `read` and `write` are of people: such a token acts as one."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_add_invitations'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='token',
            name='user',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='token',
            name='scope',
            field=models.CharField(choices=[('ingest', 'Ingest'), ('enforce', 'Enforce'), ('metrics', 'Metrics'), ('read', 'Read'), ('write', 'Write')], max_length=10),
        ),
        migrations.AddConstraint(
            model_name='token',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('scope__in', ('read', 'write')), ('user__isnull', False)), models.Q(models.Q(('scope__in', ('read', 'write')), _negated=True), ('user', None)), _connector='OR'), name='tokens_of_people_have_a_person'),
        ),
    ]
