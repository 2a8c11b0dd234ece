"""Make the tables: runs, their tests and trials, and the quantities of the trials."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uid", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("bench", sa.Text, nullable=False),
        sa.Column("after", sa.Text),
        sa.Column("started", sa.DateTime(timezone=True)),
        sa.Column("ended", sa.DateTime(timezone=True)),
        sa.Column("commit", sa.Text),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("exit_code", sa.BigInteger),
        sa.Column("imported", sa.Boolean, nullable=False),
        sa.Column("path", sa.Text),
    )
    op.create_table(
        "tests",
        sa.Column("run_id", sa.Integer, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("test", sa.Text, primary_key=True),
        sa.Column("board", sa.Text),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("expected", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Integer, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("test", sa.Text, nullable=False),
        sa.Column("board", sa.Text, nullable=False),
        sa.Column("reality", sa.Text),
        sa.Column("network", sa.Text, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("variant", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, sa.ForeignKey("settings.digest"), nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("final_digest", sa.Text),
        sa.Column("image", sa.Text),
        sa.Column("content", sa.Text, nullable=False),
        sa.UniqueConstraint("run_id", "folder"),
    )
    op.create_table(
        "kinds",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("provenance", sa.Text, nullable=False),
        sa.UniqueConstraint("name", "unit", "provenance"),
    )
    op.create_table(
        "quantities",
        sa.Column("kind_id", sa.Integer, sa.ForeignKey("kinds.id"), primary_key=True),
        sa.Column("trial_id", sa.Integer, sa.ForeignKey("trials.id"), primary_key=True),
        sa.Column("value", sa.Double),
        sa.Column("uncertainty", sa.Double),
        sqlite_with_rowid=False,
    )
