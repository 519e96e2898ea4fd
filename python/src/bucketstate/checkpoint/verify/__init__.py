"""Whether a checkpoint is sound."""
