"""Which claims may be meant? By words and by meaning, each at several levels, all within the reach of the request."""
