"""The database as it was at commit ba4e96e, and where its models and columns are today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.apps.registry import Apps
from django.core.management import call_command
from django.db import connection, migrations
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation

FORMER = {"ingest": "0006_add_block_device_numbers", "advisor": "0011_add_external_load"}
"""The last migrations before accounts took organisations, members and tokens over."""
FRAMEWORK = ("auth", "contenttypes", "sessions")

MOVED = {
    "ingest.organisation": "accounts.organisation",
    "ingest.membership": "accounts.membership",
    "ingest.token": "accounts.token",
}
"""Models that went to another app: no operation of a migration says so."""


@dataclass(frozen=True, slots=True)
class Names:
    """Today's name of each former model, and of each of its fields."""

    models: dict[str, str]
    fields: dict[tuple[str, str], str]

    def follow(self, app: str, operation: Operation) -> None:
        """Take note of what an operation renames."""
        match operation:
            case migrations.RenameModel():
                before = f"{app}.{operation.old_name_lower}"
                for former, today in self.models.items():
                    if today == before:
                        self.models[former] = f"{app}.{operation.new_name_lower}"
            case migrations.RenameField():
                of = f"{app}.{operation.model_name_lower}"
                for (former, column), today in self.fields.items():
                    if self.models[former] == of and today == operation.old_name:
                        self.fields[former, column] = operation.new_name


def migrate_to_former_state() -> Apps:
    """Make or undo tables until they are as they were; the models that fit them."""
    graph = MigrationExecutor(connection).loader.graph
    nodes = [*FORMER.items(), *(node for app in FRAMEWORK for node in graph.leaf_nodes(app))]
    for app, migration in nodes:
        call_command("migrate", app, migration, verbosity=0)
    return present_state()


def present_state() -> Apps:
    """The models that fit the tables as they are."""
    loader = MigrationExecutor(connection).loader
    return loader.project_state(list(loader.applied_migrations)).apps


def migrate_to_head() -> None:
    call_command("migrate", verbosity=0)


def names_of_today(former: Apps) -> Names:
    """Follow every model of the former state through the migrations that are still to come."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    labels = {model._meta.label_lower: model for model in former.get_models()}
    names = Names(
        {label: MOVED.get(label, label) for label in labels},
        {
            (label, column.name): column.name
            for label, model in labels.items()
            for column in (*model._meta.fields, *model._meta.many_to_many)
        },
    )
    for migration, _ in plan:
        for operation in _operations(migration.operations):
            names.follow(migration.app_label, operation)
    return names


def _operations(operations: list[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            yield from _operations(operation.state_operations)
        else:
            yield operation
