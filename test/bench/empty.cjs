// An empty program: what is left is the start of Node itself.
