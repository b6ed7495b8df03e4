"""What the user sees: warnings, progress, the final table, the close reason."""
