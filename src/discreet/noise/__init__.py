"""Exact, vectorised noise from operating-system entropy.

The only place where randomness for privacy is made. Every sampler's distribution is the stated one,
exactly: floating point only ever guesses, and integers decide. What is proved, and under which
assumptions, is on one page: ``docs/proofs/noise.md``. (Only `noise.bingham` and `noise.norm_gamma` work
in floating point; what rests on them is charged as assumed.)
"""

from discreet.noise import entropy
from discreet.noise.bernoulli import bernoulli, bernoulli_exp
from discreet.noise.discrete_gaussian import discrete_gaussian
from discreet.noise.gaussian import rounded_gaussian
from discreet.noise.laplace import discrete_laplace, geometric
from discreet.noise.selection import select
from discreet.noise.uniform import permutation, random_bytes, random_words, uniform_below

__all__ = [
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "entropy",
    "geometric",
    "permutation",
    "random_bytes",
    "random_words",
    "rounded_gaussian",
    "select",
    "uniform_below",
]
