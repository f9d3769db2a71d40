"""Language models with named matrices, after nanoGPT: `from muonlab.models import SIZES`."""

from muonlab.models.attention import norm, rotate
from muonlab.models.ffn_keys import keys_and_values, pair_angles
from muonlab.models.gpt import SIZES
from muonlab.models.qk_clip import QKClip, clip_factors
