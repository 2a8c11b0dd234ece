"""Run the migrations on the connection of `hil.history.schema.upgrade`, within its transaction."""

from alembic import context

from hil.history.models import metadata
from hil.history.schema import TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=TABLE,
    render_as_batch=True,
)  # fmt: skip
with context.begin_transaction():
    context.run_migrations()
