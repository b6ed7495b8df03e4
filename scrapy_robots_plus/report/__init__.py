"""What does the user see? Warnings, progress, the final table, the close reason."""
