"""Every setting in one place: its name, what it may be and what it means.

To add one, declare it in ``declared.py``; then run ``make tables``.
"""
