"""Which request goes next: a queue that knows which hosts are ready and which have to wait."""
