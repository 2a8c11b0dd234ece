"""The nights before this one: their store, and statistics over them."""
