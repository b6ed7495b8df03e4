"""The audit log of crawls: it is written, checked, replayed and summed up here."""
