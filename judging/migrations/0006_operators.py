"""What operators may do to a lane, and an index for their list of jobs without a verdict."""

import judging.states
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0005_results_outlive_jobs'),
        ('runners', '0003_permissions'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='lane',
            options={'permissions': [('pause_lane', 'Can pause and resume a lane')]},
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state__in', [judging.states.JobState['CANCELLED'], judging.states.JobState['FAILED'], judging.states.JobState['SUPERSEDED']])), fields=['state', '-created_at'], name='job_unjudged'),
        ),
    ]
