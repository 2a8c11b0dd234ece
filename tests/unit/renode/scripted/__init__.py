"""A Renode of our own for tests: its servers and answers as docs/renode.md has them, its core a real one (Unicorn). No test
can tell from it what the real Renode does with a platform; it tells what we say to Renode, and what we do when it misbehaves."""
