"""What a claim has earned: votes, what they make of it, and how that fades."""
