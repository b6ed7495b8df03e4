"""Which request goes next: a queue of hosts that are ready, and of those that have to wait."""
