"""Readers and encoders: one file a backend, behind one small protocol."""
