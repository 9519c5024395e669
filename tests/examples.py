"""How many examples a property is tried with, where its own number is not that of the profile."""

from hypothesis import settings

FULL = settings.get_profile("full").max_examples


def examples(number: int) -> settings:
    """So many in a full run, and as small a share of them in a quick one as of all others."""
    return settings(max_examples=max(1, number * settings().max_examples // FULL))
