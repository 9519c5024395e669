"""How good recall is on labeled queries."""
