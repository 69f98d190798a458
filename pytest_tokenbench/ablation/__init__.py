"""Prompts made of blocks, and arms that leave blocks out: what fraction of the tokens sent a model needs."""
