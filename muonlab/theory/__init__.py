"""What the lessons prove, and measure: polynomials, spectra, the one-layer memory, its theorems."""

from muonlab.theory.embeddings import (
    coupled,
    coupled_blocks,
    gaussian,
    power_law,
    rotation,
    two_block,
)
from muonlab.theory.memory import answers, descent, direction, memorize, recall, store
from muonlab.theory.memory import memorize as train  # in older copies of lesson 00
from muonlab.theory.polynomials import derive_schedule, minimax_quintic, scalar_map
from muonlab.theory.spectra import Isotropy, isotropy
from muonlab.theory.theorems import TwoBlock, gd_worst, gradient_spectrum, run_blocks
