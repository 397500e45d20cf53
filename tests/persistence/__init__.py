"""Tests of deepnb/persistence."""
