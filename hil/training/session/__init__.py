"""The fixture `hil_trial` and what it needs of a pytest session."""
