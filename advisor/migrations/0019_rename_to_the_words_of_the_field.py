"""Claim, episode, planned job and sign become allocation, incident, maintenance window and signal.

Tables, columns and constraints are renamed, so every row stays.
"""

from django.db import migrations, models


def renamed_constraint(model, old, new):
    """The constraint `old` of a model under its new name; the database keeps what it holds."""
    table = f"advisor_{model}"
    return [
        migrations.RunSQL(
            f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {new.name}",
            f"ALTER TABLE {table} RENAME CONSTRAINT {new.name} TO {old}",
            state_operations=[
                migrations.RemoveConstraint(model, old),
                migrations.AddConstraint(model, new),
            ],
        )
    ]


def renamed_partial_index(model, old, new):
    """The same for a unique constraint with a condition, which PostgreSQL has as an index."""
    return [
        migrations.RunSQL(
            f"ALTER INDEX {old} RENAME TO {new.name}",
            f"ALTER INDEX {new.name} RENAME TO {old}",
            state_operations=[
                migrations.RemoveConstraint(model, old),
                migrations.AddConstraint(model, new),
            ],
        )
    ]


class Migration(migrations.Migration):
    dependencies = [
        ("advisor", "0016_remove_unproven_scores"),
        # Content types are renamed with their models, by their columns of today.
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RenameModel("Claim", "Allocation"),
        migrations.RenameModel("Episode", "Incident"),
        migrations.RenameModel("PlannedJob", "MaintenanceWindow"),
        migrations.RenameField("recommendation", "episode", "incident"),
        migrations.RenameField("statepoint", "signs", "signals"),
        migrations.RenameField("incident", "signs", "signals"),
        *renamed_constraint(
            "allocation",
            "one_claim_per_workload_host_and_vdisk",
            models.UniqueConstraint(
                fields=["resource", "workload", "host", "vdisk"],
                name="one_allocation_per_workload_host_and_vdisk",
            ),
        ),
        *renamed_constraint(
            "incident",
            "one_episode_per_start",
            models.UniqueConstraint(
                fields=["resource", "started_at"], name="one_incident_per_start"
            ),
        ),
        *renamed_partial_index(
            "incident",
            "one_open_episode_per_resource",
            models.UniqueConstraint(
                fields=["resource"],
                condition=models.Q(ended_at=None),
                name="one_open_incident_per_resource",
            ),
        ),
        *renamed_constraint(
            "maintenancewindow",
            "planned_job_name_is_unique",
            models.UniqueConstraint(
                fields=["organisation", "name"], name="maintenance_window_name_is_unique"
            ),
        ),
        *[
            migrations.AlterField(
                "allocation",
                name,
                models.ForeignKey(on_delete=models.CASCADE, related_name="allocations", to=to),
            )
            for name, to in (
                ("host", "ingest.host"),
                ("resource", "advisor.resource"),
                ("workload", "advisor.workload"),
            )
        ],
        *[
            migrations.AlterField(
                model,
                name,
                models.ForeignKey(on_delete=models.CASCADE, related_name=related, to=to),
            )
            for model, name, related, to in (
                ("incident", "organisation", "incidents", "accounts.organisation"),
                ("incident", "resource", "incidents", "advisor.resource"),
                (
                    "maintenancewindow",
                    "organisation",
                    "maintenance_windows",
                    "accounts.organisation",
                ),
            )
        ],
        *[
            migrations.AlterField(
                "maintenancewindow",
                name,
                models.ManyToManyField(blank=True, related_name="maintenance_windows", to=to),
            )
            for name, to in (
                ("resources", "advisor.resource"),
                ("workloads", "advisor.workload"),
            )
        ],
    ]
