"""Data sets of the grid: make, write, read, audit, compare."""

from theodolite.grid._audit import Audit, BucketAudit, audit
from theodolite.grid._compare import AnswerAgreement, Comparison, compare
from theodolite.grid._dataset import Dataset, DatasetPlan, make_dataset
from theodolite.grid._faults import Fault
from theodolite.grid._files import StoredDataset, read_dataset, write_dataset
from theodolite.grid._heuristics import Heuristic, heuristics
from theodolite.grid._published import PUBLISHED, Published, published

__all__ = [
    "PUBLISHED",
    "AnswerAgreement",
    "Audit",
    "BucketAudit",
    "Comparison",
    "Dataset",
    "DatasetPlan",
    "Fault",
    "Heuristic",
    "Published",
    "StoredDataset",
    "audit",
    "compare",
    "heuristics",
    "make_dataset",
    "published",
    "read_dataset",
    "write_dataset",
]
