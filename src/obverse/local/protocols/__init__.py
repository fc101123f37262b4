"""Local protocols: one frozen value each, shared by both sides. Adding one is a file and a line here."""

from obverse.local.protocols.base import Estimated, LastingProtocol, LocalProtocol
from obverse.local.protocols.count_mean import CountMean
from obverse.local.protocols.direct import Direct
from obverse.local.protocols.fragments import Fragments
from obverse.local.protocols.hadamard import Hadamard
from obverse.local.protocols.hadamard_count_mean import HadamardCountMean
from obverse.local.protocols.hybrid_mean import HybridMean
from obverse.local.protocols.local_hash import LocalHash
from obverse.local.protocols.loloha import Loloha
from obverse.local.protocols.memoised_unary import MemoisedUnary
from obverse.local.protocols.one_bit_mean import OneBitMean
from obverse.local.protocols.piecewise_mean import PiecewiseMean
from obverse.local.protocols.pooled_hash import PooledHash
from obverse.local.protocols.prefixes import Prefixes
from obverse.local.protocols.projective import Projective
from obverse.local.protocols.projective_sketch import ProjectiveSketch
from obverse.local.protocols.rappor import Rappor
from obverse.local.protocols.several import AllOfSeveral, OneOfSeveral, Several
from obverse.local.protocols.subset import Subset
from obverse.local.protocols.unary import Unary
from obverse.local.protocols.words import WordProtocol

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
