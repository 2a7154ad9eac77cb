"""Experiments: one trial or thousands, here or on a cluster, each result kept."""
