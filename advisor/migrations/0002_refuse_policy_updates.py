"""A stored policy version never changes, whoever writes to the database.

Deleting is allowed: it follows the resource or organisation that a person removes.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION advisor_policy_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'policy % is immutable; publish a new version', OLD.id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER advisor_policy_is_immutable BEFORE UPDATE ON advisor_policy
    FOR EACH ROW EXECUTE FUNCTION advisor_policy_is_immutable();
"""
REVERSE = """
DROP TRIGGER advisor_policy_is_immutable ON advisor_policy;
DROP FUNCTION advisor_policy_is_immutable();
"""


class Migration(migrations.Migration):
    dependencies = [("advisor", "0001_add_inventory_and_decisions")]

    operations = [migrations.RunSQL(FORWARD, REVERSE)]
