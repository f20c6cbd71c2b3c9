"""The class of priority that an operator chose for a rejudging of many."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0016_claim_at_once'),
    ]

    operations = [
        migrations.AddField(
            model_name='rejudging',
            name='priority',
            field=models.PositiveSmallIntegerField(choices=[(0, 'urgent'), (1, 'contest'), (2, 'practice'), (3, 'rejudge'), (4, 'jury')], null=True),
        ),
    ]
