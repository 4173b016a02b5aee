"""Principal components: fewer columns that say almost as much."""

from discreet.models.decomposition.pca import PCA, fix_signs

__all__ = ["PCA", "fix_signs"]
