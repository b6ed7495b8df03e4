"""May this request go at all?"""
