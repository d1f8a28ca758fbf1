"""What happens beside a training step; one file a callback."""
