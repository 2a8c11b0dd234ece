"""Alembic's environment of the history; a migration never changes once it is released."""
