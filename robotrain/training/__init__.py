"""The loop around a policy: normalisation, augmentation, optimisation, checkpoints. The only room that places modules."""
