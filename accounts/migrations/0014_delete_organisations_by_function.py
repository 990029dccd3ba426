"""Functions with the owner's rights close and delete an organisation whose time has come.

A worker may neither change tokens nor delete people's memberships, and does not need to: what
these do is bound to organisations whose owner planned it.
"""

from typing import Any

from django.db import migrations

CHECK = """
    IF NOT EXISTS (
        SELECT FROM accounts_organisation WHERE id = which AND deletion_due_at <= now()
    ) THEN
        RAISE EXCEPTION 'the deletion of organisation % is not due', which;
    END IF;
"""
CLOSE = f"""
CREATE FUNCTION accounts_close_organisation(which bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN {CHECK}
    UPDATE accounts_token SET revoked_at = now()
        WHERE organisation_id = which AND revoked_at IS NULL;
    DELETE FROM accounts_invitation WHERE organisation_id = which;
    DELETE FROM accounts_membership WHERE organisation_id = which;
END $$
"""
DELETE = f"""
CREATE FUNCTION accounts_delete_organisation(which bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN {CHECK}
    DELETE FROM accounts_keptanswer WHERE organisation_id = which;
    DELETE FROM accounts_token WHERE organisation_id = which;
    DELETE FROM accounts_invitation WHERE organisation_id = which;
    DELETE FROM accounts_membership WHERE organisation_id = which;
    DELETE FROM accounts_auditentry WHERE organisation_id = which;
    DELETE FROM accounts_audithead WHERE organisation_id = which;
    DELETE FROM accounts_organisation WHERE id = which;
END $$
"""
NAMES = ("accounts_close_organisation(bigint)", "accounts_delete_organisation(bigint)")


def create(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        for text in (CLOSE, DELETE):
            cursor.execute(text.replace("SCHEMA", schema))
        for name in NAMES:
            # Everybody may call a new function.
            cursor.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def drop(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for name in NAMES:
            cursor.execute(f"DROP FUNCTION {name}")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0013_add_who_made_tokens")]
    operations = [migrations.RunPython(create, drop)]
