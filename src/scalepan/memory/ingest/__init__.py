"""Into memory: add, change, forget, and redact again what is there."""
