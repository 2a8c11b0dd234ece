"""Show that a recorded run can be trusted: check, compute again, sign, pack (docs/verify.md)."""
