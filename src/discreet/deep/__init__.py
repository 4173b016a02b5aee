"""Private deep learning, and learning from teachers: PATE, scattering features, images."""
