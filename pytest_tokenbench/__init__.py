"""pytest-tokenbench: pre-registered hypotheses on token cost and accuracy, run as pytest tests."""
