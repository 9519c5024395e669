"""What do these traces say about their agents? Counts, groups, repeats, extremes and rejects, in constant memory."""
