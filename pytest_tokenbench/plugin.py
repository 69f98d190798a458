"""pytest options and hooks."""
