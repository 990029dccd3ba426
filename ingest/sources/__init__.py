"""What collectors send, a folder each: what it recognises and where its numbers are kept."""
