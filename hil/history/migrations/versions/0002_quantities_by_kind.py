"""In PostgreSQL replace the key of the quantities by two small indexes: it was a third of the database."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Replace the key; that of SQLite is the table itself, and stays."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_constraint("quantities_pkey", "quantities", type_="primary")
        op.create_index("quantities_by_kind", "quantities", ["kind_id"])
        op.create_index("quantities_by_trial", "quantities", ["trial_id"], postgresql_using="brin")
