"""Problem versions judged against the submissions in their packages."""

import django.db.models.deletion
import django.db.models.functions.datetime
import runners.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0017_rejudging_class'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='problemversion',
            options={'ordering': ['problem', '-number'], 'permissions': [('verify_problemversion', 'Can have a version judged against its own submissions')]},
        ),
        migrations.CreateModel(
            name='Verification',
            fields=[
                ('id', models.UUIDField(default=runners.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('by', models.CharField(max_length=100)),
                ('reason', models.TextField()),
                ('state', models.CharField(choices=[('working', 'being judged'), ('done', 'compared'), ('cancelling', 'ending its jobs'), ('cancelled', 'cancelled')], default='working', max_length=10)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('settled_at', models.DateTimeField(null=True)),
                ('settled_by', models.CharField(blank=True, default='', max_length=100)),
                ('lane', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='verification', to='judging.lane')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='verifications', to='judging.problemversion')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='VerificationItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=300)),
                ('language', models.CharField(blank=True, default='', max_length=64)),
                ('promise', models.TextField()),
                ('state', models.CharField(choices=[('waiting', 'to be sent in'), ('sent', 'sent in'), ('kept', 'as promised'), ('broken', 'not as promised'), ('ended', 'ended without a verdict'), ('skipped', 'not judged')], default='waiting', max_length=7)),
                ('job', models.UUIDField(null=True, unique=True)),
                ('found', models.CharField(blank=True, default='', max_length=64)),
                ('note', models.TextField(blank=True, default='')),
                ('submission', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='verified', to='judging.submission')),
                ('verification', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='judging.verification')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='VerificationFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('role', models.CharField(max_length=128)),
                ('file_name', models.CharField(max_length=255)),
                ('file', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='judging.storedfile')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='judging.verificationitem')),
            ],
            options={
                'ordering': ['item', 'position'],
            },
        ),
        migrations.AddConstraint(
            model_name='verification',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['working', 'cancelling'])), fields=('version',), name='verification_one_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='verificationitem',
            constraint=models.UniqueConstraint(fields=('verification', 'name'), name='verification_item_once'),
        ),
        migrations.AddConstraint(
            model_name='verificationitem',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('job__isnull', True), ('state__in', ['waiting', 'skipped']), ('submission__isnull', True)), models.Q(models.Q(('state__in', ['waiting', 'skipped']), _negated=True), ('job__isnull', False), ('submission__isnull', False)), _connector='OR'), name='verification_item_sent_has_job'),
        ),
        migrations.AddConstraint(
            model_name='verificationfile',
            constraint=models.UniqueConstraint(fields=('item', 'role'), name='verification_file_once'),
        ),
    ]
