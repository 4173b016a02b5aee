"""The labels of public rows, for masks as they were published."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import Unit


@final
class TrueLabels(Step):
    """The codes of a column, as they are.

    Privacy
    -------
    None: it runs on rows declared public and refuses all others (``docs/proofs/refuted.md``,
    `masking-true-labels`).
    """

    def __init__(self, name: str) -> None:
        self.columns = (name,)

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if not unit.is_public:
            raise ValueError("labels='true' is only for rows declared public, with unit=dp.PUBLIC.")
        return events.Compose()

    def run(self, rows: CodedRows) -> npt.NDArray[np.int64]:
        codes = rows.codes[:, 0]
        return codes[codes >= 0]
