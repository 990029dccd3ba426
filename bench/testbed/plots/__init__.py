"""Plots of a run: what was measured beside what the replayed studies print."""
