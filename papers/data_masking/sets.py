"""Tables with two classes, and bounds of their columns that anyone may know.

The bounds are round numbers typed in by hand, with the public tables in view: scales that are published with
them (1 to 10, -1 to 1), or what is usual of a measurement. Values beyond are clamped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[3] / "shared" / "data"))
Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Table:
    """Where a table is, which cells of its target are the positive class, and its columns' bounds."""

    name: str
    file: str
    target: str
    positive: tuple[object, ...]
    bounds: Bounds

    def read(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Rows scaled to [-1, 1] by the bounds (missing cells: 0), and 0 or 1."""
        import pandas as pd

        frame = pd.read_csv(DATA / f"{self.file}.csv.gz", na_values="?")
        low, high = np.array(list(self.bounds.values()), np.float64).T
        x = frame[list(self.bounds)].to_numpy(np.float64)
        z = np.clip((2 * x - low - high) / (high - low), -1, 1)
        return np.nan_to_num(z, nan=0.0), frame[self.target].isin(self.positive).to_numpy(np.int64)


def _same(names: list[str], low: float, high: float) -> Bounds:
    return dict.fromkeys(names, (low, high))


_CELLS = [
    "clump_thickness",
    "uniformity_cell_size",
    "uniformity_cell_shape",
    "marginal_adhesion",
    "single_epithelial_cell_size",
    "bare_nuclei",
    "bland_chromatin",
    "normal_nucleoli",
    "mitoses",
]

TABLES = (
    Table(
        "Pima diabetes",
        "pima_diabetes",
        "outcome",
        (1,),
        {
            "pregnancies": (0, 10),
            "glucose": (70, 180),
            "blood_pressure": (50, 100),
            "skin_thickness": (0, 50),
            "insulin": (0, 300),
            "bmi": (20, 45),
            "diabetes_pedigree": (0, 1),
            "age": (20, 60),
        },
    ),
    Table(
        "Breast cancer, original",
        "breast_cancer_wisconsin_original",
        "class",
        (4,),
        _same(_CELLS, 1, 10),
    ),
    Table(
        "Breast cancer, diagnostic",
        "breast_cancer_wdbc",
        "diagnosis",
        ("M",),
        {
            "mean_radius": (8, 22),
            "mean_texture": (10, 30),
            "mean_perimeter": (50, 140),
            "mean_area": (200, 1400),
            "mean_smoothness": (0.06, 0.13),
            "mean_compactness": (0.02, 0.2),
            "mean_concavity": (0, 0.25),
            "mean_concave_points": (0, 0.12),
            "mean_symmetry": (0.12, 0.25),
            "mean_fractal_dimension": (0.05, 0.08),
            "worst_radius": (8, 26),
            "worst_texture": (15, 40),
            "worst_perimeter": (50, 180),
            "worst_area": (200, 2000),
            "worst_smoothness": (0.08, 0.18),
            "worst_compactness": (0, 0.6),
            "worst_concavity": (0, 0.7),
            "worst_concave_points": (0, 0.25),
            "worst_symmetry": (0.2, 0.4),
            "worst_fractal_dimension": (0.05, 0.12),
        },
    ),
    Table(
        "Heart disease, Cleveland",
        "heart_disease_cleveland",
        "num",
        (1, 2, 3, 4),
        {
            "age": (35, 75),
            "sex": (0, 1),
            "cp": (1, 4),
            "trestbps": (100, 165),
            "chol": (150, 350),
            "fbs": (0, 1),
            "restecg": (0, 2),
            "thalach": (100, 190),
            "exang": (0, 1),
            "oldpeak": (0, 4),
            "slope": (1, 3),
            "ca": (0, 3),
            "thal": (3, 7),
        },
    ),
    Table(
        "Liver patients",
        "ilpd_liver",
        "selector",
        (1,),
        {
            "age": (10, 80),
            "total_bilirubin": (0, 4),
            "direct_bilirubin": (0, 2),
            "alkaline_phosphotase": (50, 500),
            "sgpt_alamine_aminotransferase": (0, 100),
            "sgot_aspartate_aminotransferase": (0, 120),
            "total_proteins": (4, 9),
            "albumin": (1, 5),
            "ag_ratio": (0.2, 1.8),
        },
    ),
    Table(
        "Breast cancer survival",
        "haberman_survival",
        "survival_status",
        (2,),
        {"age": (30, 75), "operation_year": (58, 69), "positive_axillary_nodes": (0, 12)},
    ),
    Table(
        "SPECT",
        "spect_heart",
        "overall_diagnosis",
        (1,),
        _same([f"F{k}" for k in range(1, 23)], 0, 1),
    ),
    Table(
        "SPECTF",
        "spectf_heart",
        "overall_diagnosis",
        (1,),
        _same([f"F{k}{kind}" for k in range(1, 23) for kind in "RS"], 40, 90),
    ),
    Table(
        "Ionosphere",
        "ionosphere",
        "class",
        ("g",),
        _same([f"a{k:02}" for k in range(1, 35)], -1, 1),
    ),
    Table(
        "Banknotes",
        "banknote_authentication",
        "class",
        (1,),
        {"variance": (-6, 6), "skewness": (-10, 12), "curtosis": (-5, 10), "entropy": (-6, 3)},
    ),
    Table(
        "Credit approval",
        "credit_approval_crx",
        "A16",
        ("+",),
        {
            "A2": (15, 60),
            "A3": (0, 12),
            "A8": (0, 6),
            "A11": (0, 6),
            "A14": (0, 400),
            "A15": (0, 1000),
        },
    ),
    Table(
        "Blood donations",
        "blood_transfusion",
        "donated_march_2007",
        (1,),
        {"recency_months": (0, 24), "frequency_times": (0, 12), "time_months": (0, 80)},
    ),
    Table(
        "Adult",
        "adult_train",
        "income",
        (">50K",),
        {
            "age": (17, 65),
            "education-num": (5, 15),
            "hours-per-week": (20, 60),
            "capital-gain": (0, 5000),
        },
    ),
    Table(
        "Bank marketing",
        "bank_marketing_full",
        "y",
        ("yes",),
        {
            "age": (20, 65),
            "balance": (-1000, 4000),
            "duration": (0, 600),
            "campaign": (1, 6),
            "previous": (0, 4),
        },
    ),
    Table(
        "Bar exam",
        "law_school",
        "pass_bar",
        (1,),
        {"lsat": (20, 50), "ugpa": (2, 4), "fulltime": (1, 2), "fam_inc": (1, 5), "tier": (1, 6)},
    ),
    Table(
        "Recidivism",
        "compas_two_years",
        "two_year_recid",
        (1,),
        {
            "age": (18, 60),
            "priors_count": (0, 10),
            "juv_fel_count": (0, 2),
            "juv_misd_count": (0, 2),
        },
    ),
)
