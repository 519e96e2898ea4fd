"""Says what of a query's state is slow or at risk, which setting helps, and by which figures."""

from bucketstate.doctor.advice import Advice, Diagnosis
from bucketstate.doctor.diagnosis import of_checkpoint, of_progress
from bucketstate.doctor.sources import ProgressFileError, read_progress

__all__ = [
    "Advice",
    "Diagnosis",
    "ProgressFileError",
    "of_checkpoint",
    "of_progress",
    "read_progress",
]
