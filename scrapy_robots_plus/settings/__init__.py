"""Every setting: what it is called, what it may be, what it means, in one place.

To add one, declare it in ``declared.py``; then ``make tables``.
"""
