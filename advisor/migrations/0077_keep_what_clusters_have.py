"""Pods, claims and classes of volumes of Kubernetes clusters, as they were read last."""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models

KEY = models.BigAutoField(
    auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
)


def _of(model: str, name: str) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(
        on_delete=django.db.models.deletion.CASCADE, related_name=name, to=model
    )


def _text(longest: int) -> models.CharField[Any, Any]:
    return models.CharField(max_length=longest)


def _maybe(longest: int) -> models.CharField[Any, Any]:
    return models.CharField(blank=True, max_length=longest)


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0018_seal_answers_and_second_factors"),
        ("advisor", "0076_name_kinds_of_sources"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="ClusterPod",
            fields=[
                ("id", KEY),
                ("uid", _text(64)),
                ("namespace", _text(63)),
                ("name", _text(253)),
                ("node", _maybe(253)),
                ("owner", _maybe(300)),
                ("labels", models.JSONField(blank=True, default=dict)),
                ("claims", models.JSONField(blank=True, default=list)),
                ("organisation", _of("accounts.organisation", "cluster_pods")),
                ("source", _of("advisor.readsource", "pods")),
            ],
            options={"ordering": ["organisation", "namespace", "name"]},
        ),
        migrations.CreateModel(
            name="ClusterClaim",
            fields=[
                ("id", KEY),
                ("uid", _text(64)),
                ("namespace", _text(63)),
                ("name", _text(253)),
                ("labels", models.JSONField(blank=True, default=dict)),
                ("volume", _maybe(253)),
                ("driver", _maybe(63)),
                ("storage_class", _maybe(253)),
                ("asked_class", _maybe(253)),
                ("current_class", _maybe(253)),
                ("change", _maybe(253)),
                ("organisation", _of("accounts.organisation", "cluster_claims")),
                ("source", _of("advisor.readsource", "claims")),
            ],
            options={"ordering": ["organisation", "namespace", "name"]},
        ),
        migrations.CreateModel(
            name="VolumeClass",
            fields=[
                ("id", KEY),
                ("name", _text(253)),
                ("driver", _text(63)),
                ("parameters", models.JSONField(blank=True, default=dict)),
                ("organisation", _of("accounts.organisation", "volume_classes")),
                ("source", _of("advisor.readsource", "classes")),
            ],
            options={"ordering": ["organisation", "name"]},
        ),
        *(
            migrations.AddConstraint(
                model, models.UniqueConstraint(fields=("source", column), name=name)
            )
            for model, column, name in (
                ("clusterpod", "uid", "pod_is_once_in_its_cluster"),
                ("clusterclaim", "uid", "claim_is_once_in_its_cluster"),
                ("volumeclass", "name", "volume_class_is_once_in_its_cluster"),
            )
        ),
    ]
