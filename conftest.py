"""What every test shares: no learner's data, one thread, and no comparison of full precision."""

import os
import tempfile

from muonlab.classroom.claims import MIME

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any notebook's kernel starts
os.environ["MUONLAB_HOME"] = tempfile.mkdtemp(prefix="muonlab-tests-")


def pytest_collectstart(collector) -> None:
    """Keeps nbval from comparing all digits of a claim: its text, to a thousandth, is compared."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += (MIME,)
