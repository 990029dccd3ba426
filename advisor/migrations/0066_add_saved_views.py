import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0016_add_tour_of_the_sample'),
        ('advisor', '0065_show_waiting_by_quarters'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('page', models.CharField(choices=[('overview', 'Overview'), ('workloads', 'Workloads'), ('storage', 'Storage'), ('networks', 'Networks'), ('hosts', 'Hosts'), ('recommendations', 'Recommendations')], max_length=20)),
                ('name', models.CharField(max_length=200)),
                ('query', models.CharField(blank=True, default='', max_length=1000)),
                ('member', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='accounts.membership')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='accounts.organisation')),
            ],
            options={
                'ordering': ['page', 'name', 'pk'],
                'constraints': [
                    models.UniqueConstraint(condition=Q(('member__isnull', True)), fields=('organisation', 'page', 'name'), name='shared_view_name_is_unique'),
                    models.UniqueConstraint(condition=Q(('member__isnull', False)), fields=('member', 'page', 'name'), name='own_view_name_is_unique'),
                ],
            },
        ),
    ]
