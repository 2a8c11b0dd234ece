"""Second sources of the figures that the firmware reports; a trial fails if two differ (docs/reported-figures.md)."""
