"""Synthetic tables: select and measure marginals, estimate a model of them, draw rows."""

from discreet.publish.synthetic.synthesizer import Synthesizer

__all__ = ["Synthesizer"]
