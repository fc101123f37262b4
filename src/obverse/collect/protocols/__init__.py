"""Local protocols: one frozen value each, shared by both sides. Adding one is a file and a line here."""

from obverse.collect.protocols.base import Estimated, LastingProtocol, LocalProtocol
from obverse.collect.protocols.count_mean import CountMean, HadamardCountMean
from obverse.collect.protocols.direct import Direct
from obverse.collect.protocols.hadamard import Hadamard
from obverse.collect.protocols.local_hash import LocalHash, PooledHash
from obverse.collect.protocols.loloha import Loloha
from obverse.collect.protocols.numbers import HybridMean, OneBitMean, PiecewiseMean
from obverse.collect.protocols.projective import Projective, ProjectiveSketch
from obverse.collect.protocols.rappor import Rappor
from obverse.collect.protocols.several import AllOfSeveral, OneOfSeveral, Several
from obverse.collect.protocols.subset import Subset
from obverse.collect.protocols.unary import MemoisedUnary, Unary
from obverse.collect.protocols.words import Fragments, Prefixes, WordProtocol

PROTOCOLS: tuple[type[LocalProtocol], ...] = (
    Direct,
    Unary,
    LocalHash,
    PooledHash,
    Hadamard,
    Projective,
    Subset,
    CountMean,
    HadamardCountMean,
    ProjectiveSketch,
    Prefixes,
    Fragments,
    Rappor,
    Loloha,
    MemoisedUnary,
    OneBitMean,
    PiecewiseMean,
    HybridMean,
    OneOfSeveral,
    AllOfSeveral,
)

__all__ = [
    "PROTOCOLS",
    "AllOfSeveral",
    "CountMean",
    "Direct",
    "Estimated",
    "Fragments",
    "Hadamard",
    "HadamardCountMean",
    "HybridMean",
    "LastingProtocol",
    "LocalHash",
    "LocalProtocol",
    "Loloha",
    "MemoisedUnary",
    "OneBitMean",
    "OneOfSeveral",
    "PiecewiseMean",
    "PooledHash",
    "Prefixes",
    "Projective",
    "ProjectiveSketch",
    "Rappor",
    "Several",
    "Subset",
    "Unary",
    "WordProtocol",
]
