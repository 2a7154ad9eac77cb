"""Learning: the paper's four learners and our own over one core, and the controls beside them."""
