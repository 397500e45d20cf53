"""The made credentials that the gate is to keep out of all that is written."""

from deepnb.gate import redact
from tests.data import credentials_judge, credentials_practice
from tests.data.credentials import samples

NEW = (*credentials_practice.samples(), *credentials_judge.samples())
FOUND = tuple(sample for sample in NEW if not any(value in redact(sample.text) for value in sample.values))
"""Those of the two new sets that the rules find: all but a few of the one they were not written by."""
SAMPLES = (*samples(), *FOUND)
