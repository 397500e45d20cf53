"""Tests of deepnb/formats."""
