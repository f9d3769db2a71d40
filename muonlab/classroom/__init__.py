"""What a notebook cell calls: `from muonlab.classroom import start`."""

from muonlab.classroom import report
from muonlab.classroom.bands import GROUPS, ahead_from, bands_data, final_losses, measured_spectra
from muonlab.classroom.claims import judged, stored_claims
from muonlab.classroom.contests import by_contestant, saved_steps
from muonlab.classroom.curves import facts_data, facts_name, runs_data
from muonlab.classroom.figures import intervals, lines, spectra
from muonlab.classroom.lesson import Lesson, start
from muonlab.classroom.predict import home
from muonlab.doctor import examine
from muonlab.files import course

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
    "judged",
    "lines",
    "measured_spectra",
    "report",
    "runs_data",
    "saved_steps",
    "spectra",
    "start",
    "stored_claims",
]
