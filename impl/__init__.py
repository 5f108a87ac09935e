"""The protocol on torch.distributed, small enough to read in one sitting."""
