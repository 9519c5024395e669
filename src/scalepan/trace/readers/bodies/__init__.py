"""Request and response bodies of the APIs of language models, as people log them."""
