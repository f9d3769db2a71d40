"""What a model is trained on: `from muonlab.data import load_corpus`."""

from muonlab.data.facts import people_in_group, selections
from muonlab.data.load import load_corpus
from muonlab.data.zipf import exponent_interval, ranked_blocks, zipf
