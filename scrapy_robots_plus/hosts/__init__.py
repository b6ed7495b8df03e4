"""When may a host be asked?

``pace.py`` answers it for one host: a pure state machine, to which everything that delays the host
is an event. ``line.py`` holds the requests that wait for it, ``door.py`` stands between the
downloader and its handlers, where each request waits for its moment. ``book.py`` says who leaves
next of several crawls; ``shared_pace.py`` asks it.
"""
