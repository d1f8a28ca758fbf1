"""The loop around a policy: normalising, augmenting, optimising, saving. The only room that places modules."""
