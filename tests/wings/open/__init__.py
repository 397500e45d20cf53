"""Tests of deepnb/wings/open."""
