"""For other packages. Nothing here is imported unless you do; each module needs its package."""
