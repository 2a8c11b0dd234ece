"""The network: its intermediate representation, and its file with everything that a reader refuses (docs/network.md)."""
