"""The framed, checked, acknowledged protocol between host and agent (docs/link.md)."""
