"""What else does a robots.txt say about the URLs of its site?"""
