"""`hil matrix`: which method, on which network and board, has been seen to be bit-exact."""
