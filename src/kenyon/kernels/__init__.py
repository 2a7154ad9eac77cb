"""Compiled kernels on bare arrays. Nothing is checked here: callers do."""
