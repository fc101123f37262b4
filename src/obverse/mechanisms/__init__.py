"""Mechanisms: one immutable value that samples and states its own loss. Adding one is a file and a line here."""

from obverse.mechanisms.base import Additive, Example, Mechanism
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.key_threshold import KeyThreshold
from obverse.mechanisms.ladder import Ladder
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.randomized_response import RandomizedResponse
from obverse.mechanisms.sparse_vector import SparseVector

MECHANISMS: tuple[type[Mechanism], ...] = (
    DiscreteLaplace,
    DiscreteGaussian,
    Exponential,
    PermuteAndFlip,
    RandomizedResponse,
    KeyThreshold,
    SparseVector,
    Ladder,
)

__all__ = [
    "MECHANISMS",
    "Additive",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Example",
    "Exponential",
    "KeyThreshold",
    "Ladder",
    "Mechanism",
    "PermuteAndFlip",
    "RandomizedResponse",
    "SparseVector",
]
