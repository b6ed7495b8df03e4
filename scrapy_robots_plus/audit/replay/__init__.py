"""Decides again what a log says was decided."""
