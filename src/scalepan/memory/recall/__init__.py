"""Out of memory: what a request may see, what is found, how it is ranked, and what is kept as an active context."""
