"""What a notebook cell calls: `from muonlab.classroom import start`."""

from muonlab.classroom import paper, report
from muonlab.classroom.bands import GROUPS, ahead_from, bands_data, final_losses, measured_spectra
from muonlab.classroom.curves import facts_data, facts_name, runs_data
from muonlab.classroom.figures import intervals, lines, spectra
from muonlab.classroom.lesson import Lesson, start
from muonlab.classroom.predict import home
from muonlab.doctor import examine
from muonlab.files import course
from muonlab.records.runs import by_contestant, saved_steps

__all__ = [
    "GROUPS",
    "Lesson",
    "ahead_from",
    "bands_data",
    "by_contestant",
    "course",
    "examine",
    "facts_data",
    "facts_name",
    "final_losses",
    "home",
    "intervals",
    "lines",
    "measured_spectra",
    "paper",
    "report",
    "runs_data",
    "saved_steps",
    "spectra",
    "start",
]
