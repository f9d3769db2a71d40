"""The door to what a notebook cell calls: `from muonlab.classroom import start`."""

from muonlab.classroom import report
from muonlab.classroom.explorer_data import (
    MATRICES,
    averages_data,
    bands_data,
    facts_data,
    learner,
    logits_data,
    measured_spectra,
    trials_data,
)
from muonlab.classroom.lesson import Lesson, start, start_evidence
from muonlab.classroom.race import watch
from muonlab.doctor import examine
from muonlab.drawing.figures import bars, lead_map, lines, panels, spectra, timelines
from muonlab.drawing.heatmaps import maps, matrix
from muonlab.files import course, home
from muonlab.records.record import contestant
from muonlab.records.runs import by_contestant, curves, grouped
from muonlab.studies.equal_time import leads_in_time, step_ratio
