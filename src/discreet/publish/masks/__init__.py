"""Masks of tables with wavelets: as they were published, for public rows, and repaired, for private ones."""

from discreet.publish.masks.published import LS, LSPlus, PseudoQuantum

__all__ = ["LS", "LSPlus", "PseudoQuantum"]
