"""Models in files that hold data only."""
