"""A run as others see it: for CI, for a pull request, and as a page to look through."""
