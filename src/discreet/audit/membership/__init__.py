"""Attacks on trained models: membership, attributes, reconstruction.

>>> from discreet.audit import membership
>>> game = membership.play(classifier, X, y, random_state=0)  # doctest: +SKIP
>>> membership.lira(game)  # doctest: +SKIP
"""

from discreet.audit.membership.attacks import lira, loss_threshold, rmia, shadow_models
from discreet.audit.membership.attributes import AttributeReport, attribute_inference
from discreet.audit.membership.game import Answers, Game, class_probabilities, play, trainer
from discreet.audit.membership.reconstruction import (
    BitReport,
    reconstruct_bits,
    reconstruct_record,
    reconstruction_attack,
)
from discreet.audit.membership.record import RecordAudit, audit_record, audit_scores
from discreet.audit.membership.report import MembershipReport, Rate

__all__ = [
    "Answers",
    "AttributeReport",
    "BitReport",
    "Game",
    "MembershipReport",
    "Rate",
    "RecordAudit",
    "attribute_inference",
    "audit_record",
    "audit_scores",
    "class_probabilities",
    "lira",
    "loss_threshold",
    "play",
    "reconstruct_bits",
    "reconstruct_record",
    "reconstruction_attack",
    "rmia",
    "shadow_models",
    "trainer",
]
