"""What a setting may be. Each check returns the value to use, or raises ValueError saying what is
expected.
"""
