"""Tests of `uncaged import`."""
