"""May this request go?"""
