"""What was said, in forms that need no product of ours to be read. Pure functions of states and trees; no I/O."""
