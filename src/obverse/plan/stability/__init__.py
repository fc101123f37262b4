"""One node, one file: facts out from facts in, each with its theorem."""
