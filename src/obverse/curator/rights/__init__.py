"""rights."""
