"""Published engines, driven unmodified as subjects."""
