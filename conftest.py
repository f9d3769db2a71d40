"""What every test shares: no learner's data, one thread, and no comparison of full precision."""

import atexit
import os
import shutil
import tempfile

import pytest

# before torch is imported, and before any notebook's kernel starts
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["MUONLAB_HOME"] = tempfile.mkdtemp(prefix="muonlab-tests-")

atexit.register(shutil.rmtree, os.environ["MUONLAB_HOME"])

DRAWING = r'(?s)<svg [^>]*aria-label="([^"]*)".*?</svg>'


@pytest.fixture
def own_home(tmp_path, monkeypatch) -> None:
    """The learner's folder is the test's own."""
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path))


@pytest.fixture
def as_on_a_gpu(monkeypatch) -> None:
    """Launches seem to cost more than passes over memory, so a step takes all stacks at once."""
    for place in ("optim.fast", "optim.stacks", "training.run"):
        monkeypatch.setattr(f"muonlab.{place}.launches_cost", lambda device: True)


def pytest_collectstart(collector) -> None:
    """What nbval compares: of a claim its text, not all its digits; of a figure what it says.

    The last digit of a coordinate depends on the number of threads.
    """
    if hasattr(collector, "skip_compare"):
        from muonlab.classroom.claims import CLAIM  # not in the process that collects nothing

        collector.skip_compare += (CLAIM,)
        collector.sanitize_patterns[DRAWING] = r"a drawing: \1"
