"""The same words inside what is stored as JSON or as canonical text: keys, and two values.

A policy document that an agent holds keeps its names: agents report under them until they pull.
"""

import json

from django.db import migrations

# Renaming is by whole words of a key, so `unclaimed_ratio` and `claim_pk` follow too.
FORWARD = {"claim": "allocation", "episode": "incident"}
WHOLE = {
    "sign": "signal",
    "signs": "signals",
    "job": "maintenance",
    "planned_job": "maintenance_window",
}
VALUES = {"(unclaimed)": "(unallocated)"}

TEXTS = {"recommendation": ("inputs", "answer"), "resourcestatus": ("detector",)}
DOCUMENTS = {
    "incident": ("victims", "aggressors", "evidence", "signals", "external"),
    "predictionscore": ("rates",),
}


def renamed(value, key_of, values):
    """The JSON value with other keys, and other strings where a string is a name of ours."""
    if isinstance(value, dict):
        return {key_of(key): renamed(item, key_of, values) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, key_of, values) for item in value]
    return values.get(value, value) if isinstance(value, str) else value


def new_key(key):
    if key in WHOLE:
        return WHOLE[key]
    for old, new in FORWARD.items():
        key = key.replace(old, new)
    return key


def old_key(key):
    whole = {new: old for old, new in WHOLE.items()}
    if key in whole:
        return whole[key]
    for old, new in FORWARD.items():
        key = key.replace(new, old)
    return key


def backward(value, *, is_answer):
    """`allocations` at the top of an answer had that name before, and keeps it."""
    values = {new: old for old, new in VALUES.items()}
    plain = renamed(value, old_key, values)
    if is_answer and isinstance(value, dict) and "allocations" in value:
        plain["allocations"] = plain.pop("claims")
    return plain


def canonical(value):
    """As `advisor.core.canonical` writes it."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def change(apps, change_of):
    for model, fields in TEXTS.items():
        rows = apps.get_model("advisor", model).objects.only(*fields)
        for row in rows.iterator(chunk_size=200):
            for field in fields:
                text = getattr(row, field)
                if text.startswith(("{", "[")):
                    plain = change_of(json.loads(text), is_answer=field == "answer")
                    setattr(row, field, canonical(plain))
            row.save(update_fields=fields)
    for model, fields in DOCUMENTS.items():
        rows = apps.get_model("advisor", model).objects.only(*fields)
        for row in rows.iterator(chunk_size=200):
            for field in fields:
                setattr(row, field, change_of(getattr(row, field), is_answer=False))
            row.save(update_fields=fields)


def forward_rows(apps, schema_editor):
    change(apps, lambda value, is_answer: renamed(value, new_key, VALUES))


def backward_rows(apps, schema_editor):
    change(apps, backward)


def key_sql(table, column, old, new):
    """One pass over the rows that have the key; only keys are followed by a colon."""
    return (
        f"UPDATE {table} SET {column} = replace({column}::text, '\"{old}\":', '\"{new}\":')::jsonb "
        f"WHERE {column}::text LIKE '%\"{old}\":%%';"
    ).replace("%%", "%")


IMMUTABLE = "ALTER TABLE advisor_policy {} TRIGGER advisor_policy_is_immutable;"


class Migration(migrations.Migration):
    dependencies = [("advisor", "0019_rename_to_the_words_of_the_field")]

    operations = [
        migrations.RunPython(forward_rows, backward_rows),
        # There may be millions of windows, so the database changes them itself.
        migrations.RunSQL(
            key_sql("advisor_statepoint", "signals", "sign", "signal"),
            key_sql("advisor_statepoint", "signals", "signal", "sign"),
        ),
        migrations.RunSQL(
            IMMUTABLE.format("DISABLE")
            + key_sql("advisor_policy", "allocations", "claim", "allocation")
            + IMMUTABLE.format("ENABLE"),
            IMMUTABLE.format("DISABLE")
            + key_sql("advisor_policy", "allocations", "allocation", "claim")
            + IMMUTABLE.format("ENABLE"),
        ),
        migrations.RunSQL(
            "UPDATE advisor_compliancerecord SET allocation = "
            "regexp_replace(allocation, '^claim-', 'allocation-') WHERE allocation LIKE 'claim-%'",
            "UPDATE advisor_compliancerecord SET allocation = "
            "regexp_replace(allocation, '^allocation-', 'claim-') "
            "WHERE allocation LIKE 'allocation-%'",
        ),
    ]
