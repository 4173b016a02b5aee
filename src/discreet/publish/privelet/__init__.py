"""Histograms and range counts: cells, trees and wavelets, whichever answers a workload best."""

from discreet.publish.privelet.bank import Bank
from discreet.publish.privelet.query import Ranges
from discreet.publish.privelet.strategies import Automatic, Flat, Haar, Strategy, Tree
from discreet.publish.privelet.value import Curve, QuantileValue, RangeCount, RangesValue

__all__ = [
    "Automatic",
    "Bank",
    "Curve",
    "Flat",
    "Haar",
    "QuantileValue",
    "RangeCount",
    "Ranges",
    "RangesValue",
    "Strategy",
    "Tree",
]
