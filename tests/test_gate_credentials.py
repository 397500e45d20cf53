"""The gate's rules against samples that were frozen before the rules were written."""

from __future__ import annotations

import hashlib

from data.clean_lines import lines
from data.credentials import samples

SAMPLES, CLEAN = samples(), lines()
DIGEST = "7431edc7792e538a926a3dc87e8f066edb285b4d2c9551e7875e24383f5540ef"


def test_the_samples_are_the_frozen_ones():
    assert len(SAMPLES) >= 260 and len({sample.kind for sample in SAMPLES}) >= 32 and len(CLEAN) >= 700
    assert hashlib.sha256(repr((SAMPLES, CLEAN)).encode()).hexdigest() == DIGEST
