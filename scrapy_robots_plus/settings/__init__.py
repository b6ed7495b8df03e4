"""Every setting in one place: its name, what it may be and what it means.

To add one, declare it in ``all_settings.py``; then run ``make tables``.
"""
