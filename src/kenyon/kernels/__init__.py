"""Compiled kernels on bare arrays. They check nothing: callers do."""
