"""Add what `hil lab` shows: news and plan of runs under way, and place, time and flash cycles of trials."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add columns, which older rows leave empty, and the tables of planned tests and of boards that fail as rig."""
    op.add_column("runs", sa.Column("workers", sa.Integer))
    op.add_column("runs", sa.Column("heard", sa.DateTime(timezone=True)))
    op.add_column("runs", sa.Column("moved", sa.DateTime(timezone=True)))
    op.add_column("tests", sa.Column("seconds", sa.Double))
    op.add_column("trials", sa.Column("began", sa.DateTime(timezone=True)))
    op.add_column("trials", sa.Column("attached", sa.Boolean))
    op.add_column("trials", sa.Column("place", sa.Text))
    op.add_column("trials", sa.Column("programmed", sa.Boolean))
    op.create_table(
        "planned",
        sa.Column("run_id", sa.Integer, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("test", sa.Text, primary_key=True),
        sa.Column("board", sa.Text),
        sa.Column("attached", sa.Boolean, nullable=False),
    )
    op.create_table(
        "boards",
        sa.Column("bench", sa.Text, primary_key=True),
        sa.Column("board", sa.Text, primary_key=True),
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("faults", sa.Integer, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True)),
        sa.Column("by_hand", sa.Boolean, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
    )
