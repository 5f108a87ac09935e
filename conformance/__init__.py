"""The model and a subject side by side, in real processes."""
