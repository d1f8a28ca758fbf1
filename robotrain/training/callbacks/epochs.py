# ruff: noqa: ARG002  # Lightning hands every hook everything
"""Which epoch a resumed run is in: the number of optimiser steps says it, and nothing else does.

Lightning guesses from counters that a checkpoint catches between two states, and skips an epoch of the sample order.
"""

import pytorch_lightning as pl


class EpochCount(pl.Callback):
    """Sets Lightning's count of epochs from the number of optimiser steps, before the first batch is asked for.

    Args:
        steps_per_epoch: optimiser steps of an epoch.
    """

    def __init__(self, steps_per_epoch: int) -> None:
        self.steps_per_epoch = steps_per_epoch

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Count whole epochs. Of one that was begun, the loader gives the rest, and ends: see `data/order.py`."""
        epochs = trainer.global_step // self.steps_per_epoch
        loop = trainer.fit_loop
        for each in (loop, loop.epoch_loop, loop.epoch_loop.val_loop):
            each.on_iteration_done()  # Lightning counts the batches of what comes from 0
        counts = {"ready": epochs, "started": epochs, "processed": epochs, "completed": epochs}
        loop.epoch_progress.load_state_dict({"total": counts, "current": counts})
