"""The networks of papers have the layers and numbers of parameters that the papers print."""

from __future__ import annotations

import torch

from discreet.deep import wavelet_paper_cnn


def test_the_wavelet_papers_network_has_its_shapes_and_parameters():
    network = wavelet_paper_cnn()
    assert sum(weights.numel() for weights in network.parameters()) == 1_011_466
    shapes = [(32, 25, 25), (64, 23, 23), (64, 11, 11), (7744,), (128,), (10,)]
    values = torch.zeros(2, 1, 27, 27)
    seen = []
    for layer in network:
        values = layer(values)
        if not isinstance(layer, torch.nn.ReLU):
            seen.append(tuple(values.shape[1:]))
    assert seen == shapes


def test_dropout_is_put_where_the_paper_has_it():
    kinds = [type(layer).__name__ for layer in wavelet_paper_cnn(dropout=(0.25, 0.5))]
    assert kinds.count("Dropout") == 2
    assert kinds[kinds.index("Dropout") - 1] == "MaxPool2d"
    assert kinds[-2] == "Dropout"
