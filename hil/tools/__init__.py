"""Tools for a user's own firmware, without trial or board: `hil measure` and `hil power`."""
