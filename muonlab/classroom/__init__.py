"""What a notebook cell calls: `from muonlab.classroom import start`."""

from muonlab.classroom.figures import intervals, lines, spectra
from muonlab.classroom.lesson import Lesson, start

__all__ = ["Lesson", "intervals", "lines", "spectra", "start"]
