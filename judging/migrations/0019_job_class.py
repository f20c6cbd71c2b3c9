"""The operators' filter by class: jobs of any but the contest's are few, and no other index finds them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0018_verification'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('priority', 1), _negated=True), fields=['priority', '-created_at'], name='job_unusual_class'),
        ),
    ]
