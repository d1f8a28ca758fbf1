# ruff: noqa: ARG002  # Lightning hands every hook everything
"""Which epoch a resumed run is in: the number of optimiser steps says it, and nothing else does.

Lightning guesses from counters that a checkpoint catches between two states, and skips an epoch of the sample order.
"""

import pytorch_lightning as pl

from robotrain import console


class EpochCount(pl.Callback):
    """Sets Lightning's count of epochs from the number of optimiser steps, before the first batch is asked for.

    Args:
        steps_per_epoch: optimiser steps of an epoch.
    """

    def __init__(self, steps_per_epoch: int) -> None:
        self.steps_per_epoch = steps_per_epoch

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Count whole epochs; a checkpoint from inside an epoch is gone on with, and said to be one."""
        epochs, inside = divmod(trainer.global_step, self.steps_per_epoch)
        if inside:
            console.warn(
                f"the checkpoint was written {inside} steps into an epoch of {self.steps_per_epoch}: its order of "
                "samples begins anew, so the run is not bit for bit what it would have been"
            )
            return
        loop = trainer.fit_loop
        for each in (loop, loop.epoch_loop, loop.epoch_loop.val_loop):
            each.on_iteration_done()  # what comes is a new epoch with a new order, not the rest of an old one
        counts = {"ready": epochs, "started": epochs, "processed": epochs, "completed": epochs}
        loop.epoch_progress.load_state_dict({"total": counts, "current": counts})
