"""May this request be sent at all?"""
