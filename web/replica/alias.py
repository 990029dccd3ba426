"""How the replica is called among Django's databases."""

ALIAS = "replica"
