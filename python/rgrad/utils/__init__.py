"""Utilities for training."""

from . import checkpoint

__all__ = ["checkpoint"]
