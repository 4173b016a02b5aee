"""The pictures of masks in the guide; ``python papers/wavelet_masks/figures.py`` writes them to docs/figures.

``masks_read_back.svg``: a table, its masks, and what is read back. ``masks_codes.svg``: the same with a QR
code and a digit. With ``--png FOLDER`` they are drawn there as PNG instead, to be looked at.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from harness import DATA
from masks import TEXT, draw_table

import discreet as dp
from discreet import testing
from discreet.audit.denoise import read_back_pairs
from discreet.publish.imaging import (
    ImageMask,
    crop_images,
    draw_code,
    draw_panels,
    parts,
    scan_code,
)
from discreet.publish.masks import LS, PseudoQuantum, WaveletLaplace

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
Floats = npt.NDArray[np.float64]
#: Rows that are shown, of 2187.
SHOWN = 27


def table_panels() -> dict[str, Floats]:
    """The first rows of a table of zeros and ones: as it is, masked, and read back."""
    table = draw_table(0.5)
    names = [f"x{place}" for place in range(9)]
    schema = dp.Schema({name: dp.Real(0, 1) for name in names})
    data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    told = WaveletLaplace(0.5, order="position").publish(data)
    repaired = np.column_stack([told[name] for name in names])
    masks = {
        "LS": LS(0.5).apply(table, unit=dp.PUBLIC, random_state=1),
        "PQ": PseudoQuantum(0.5).apply(table, unit=dp.PUBLIC, random_state=1),
        "LS+*": repaired,
    }
    shown: dict[str, Floats] = {"table\n27 of 2187 rows": table}
    for name, masked in masks.items():
        back = read_back_pairs(_in_blocks(masked) if name == "LS+*" else masked)
        back = _in_rows(back, 9) if name == "LS+*" else back
        shown[f"{name}\nε = 0.5"] = masked
        shown[f"{name}, read back:\n{(back == table).mean():.1%} of cells"] = back
    return {title: image[:SHOWN] for title, image in shown.items()}


def _in_blocks(table: Floats) -> Floats:
    """Each block of nine rows as columns of its own, which is how the repaired mask transforms them."""
    return table.reshape(-1, 9, table.shape[1]).transpose(1, 0, 2).reshape(9, -1)


def _in_rows(blocks: Floats, columns: int) -> Floats:
    return blocks.reshape(9, -1, columns).transpose(1, 0, 2).reshape(-1, columns)


def code_panels() -> dict[str, Floats]:
    """A QR code: masked, read back, and with noise that keeps a promise."""
    image = draw_code(TEXT, multiple=3)
    mild, strong = (
        PseudoQuantum(1, intensity).apply(image, unit=dp.PUBLIC, random_state=0)
        for intensity in (0.1, 0.7)
    )
    shown = {"a QR code": image, "pseudo-quantum, δ = 0.1": mild}
    for name, part in parts(strong).items():
        shown[f"δ = 0.7: {name}"] = part
    shown["read back from δ = 0.7"] = read_back_pairs(strong, likely=1.0)
    for epsilon, protects in ((16, "pixel"), (16, "image")):
        mask = ImageMask(image.shape, epsilon=epsilon, protects=protects)
        shown[f"ε = {epsilon} for one {protects}"] = mask.randomize(image)
    return {f"{title}\n{_scanned(part)}": part for title, part in shown.items()}


def _scanned(image: Floats) -> str:
    return "scans" if scan_code(image) == TEXT else "does not scan"


def read_digit() -> Floats:
    """A digit of 27 × 27 pixels, from 0 to 1: of MNIST, or of scikit-learn enlarged."""
    path = DATA / "mnist" / "t10k-images-idx3-ubyte.gz"
    if path.is_file():
        with gzip.open(path) as file:
            raw = np.frombuffer(file.read(16 + 784)[16:], np.uint8)
        return crop_images(raw.reshape(28, 28)) / 255
    from sklearn.datasets import load_digits

    return np.kron(load_digits().images[0] / 16, np.ones((4, 4)))[:27, :27]


def digit_panels() -> dict[str, Floats]:
    """A digit, its mask as published, and masks that protect a pixel or the image."""
    digit = read_digit()
    mask = PseudoQuantum(1, 0.1).apply(digit, unit=dp.PUBLIC, random_state=0)
    shown = {"a digit\n27 × 27 pixels": digit, "pseudo-quantum\nδ = 0.1": mask}
    pixel = ImageMask(digit.shape, epsilon=4, protects="pixel")
    image = ImageMask(digit.shape, epsilon=4, delta="1e-6", protects="image")
    shown["ε = 4 for one pixel\n(2916 for the image)"] = pixel.randomize(digit)
    shown["ε = 4, δ = 10⁻⁶\nfor the image"] = image.randomize(digit)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--png", type=Path, help="a folder for PNG files")
    folder = parser.parse_args().png
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "discreet"
    with testing.fixed_noise(0):
        drawn: dict[str, tuple[dict[str, Floats], int, tuple[float, float]]] = {
            "masks_read_back": (table_panels(), 7, (1.4, 3.6)),
            "masks_codes": ({**code_panels(), **digit_panels()}, 4, (2.4, 2.7)),
        }
    for name, (panels, across, size) in drawn.items():
        figure: Any = draw_panels(panels, columns=across, size=size)
        if folder:
            figure.savefig(folder / f"{name}.png", dpi=80)
        else:
            figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
