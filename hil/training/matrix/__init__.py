"""`hil matrix`: which method is bit-exact on which network and board, by the recorded runs."""
