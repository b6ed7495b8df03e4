"""When may a host be asked?

``queue.py`` is Scrapy's queue of requests; ``hosts.py`` knows whose turn is next, and which event
ends the wait of the others; ``host.py`` is one of them. ``pace.py`` says when the next request to a
host may leave: a pure state machine, to which everything that delays the host is an event.
``line.py`` holds the requests that wait for it, ``door.py`` stands between the downloader and its
handlers, where each request waits for its moment. ``book.py`` says who leaves next of several
crawls; ``shared_pace.py`` asks it. ``throttle.py`` says what is a refusal, and finds the pace of a
host that refuses requests; ``slowing.py`` acts on it.
"""
