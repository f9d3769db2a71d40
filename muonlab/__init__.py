"""muonlab: build the Muon optimizer, train language models with it, check every claim.

>>> from muonlab import Muon, newton_schulz, polar, GPT, GPTConfig, route
"""

from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim.coefficients import COEFFICIENTS
from muonlab.optim.lr_scale import lr_scale
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import NorMuon
from muonlab.optim.orthogonalize import newton_schulz, polar
from muonlab.optim.routing import route

__all__ = [
    "COEFFICIENTS",
    "GPT",
    "GPTConfig",
    "Muon",
    "NorMuon",
    "lr_scale",
    "newton_schulz",
    "polar",
    "route",
]
__version__ = "0.1.0"
