"""The tests. This file makes tests/conftest.py a module of its own name: folders below have a `conftest` that their tests import."""
