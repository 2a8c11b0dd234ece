"""The `hil` command and its subcommands: options, and what they print."""
