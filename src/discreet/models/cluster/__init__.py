"""Clusters with private centres."""

from discreet.models.cluster.elbow import Elbow, elbow
from discreet.models.cluster.kmeans import KMeans

__all__ = ["Elbow", "KMeans", "elbow"]
