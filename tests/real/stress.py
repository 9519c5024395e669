"""How often tests of races and kills try. Few find what a change broke; SCALEPAN_STRESS=20 tries 20 times that."""

import os

STRESS = float(os.environ.get("SCALEPAN_STRESS", "1"))


def rounds(number: int) -> int:
    """So many, times SCALEPAN_STRESS."""
    return max(1, round(number * STRESS))
