"""Second sources of what the firmware reports: where two differ, the figure is named and the trial fails (docs/reported-figures.md)."""
