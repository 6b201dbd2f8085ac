"""The paper's study, and what it did not try: series, baselines, figures and one page."""

from serigraph.experiments.built_in import built_in_source
from serigraph.experiments.reproduction import reproduce
from serigraph.experiments.series_generator import Simulation, simulated_tables
from serigraph.experiments.simulated_files import write_simulation
from serigraph.experiments.source import Source
from serigraph.experiments.source_files import read_source
from serigraph.experiments.studies import Extent, all_settings
from serigraph.experiments.study import Study

__all__ = [
    "Extent",
    "Simulation",
    "Source",
    "Study",
    "all_settings",
    "built_in_source",
    "read_source",
    "reproduce",
    "simulated_tables",
    "write_simulation",
]
