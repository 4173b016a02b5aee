"""Principal components: fewer columns that say almost as much."""

from discreet.models.decomposition.pca import PCA, signed

__all__ = ["PCA", "signed"]
