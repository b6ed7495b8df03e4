"""The queue and the pace of hosts: when may a host be asked?

| question | file |
| --- | --- |
| what does Scrapy's scheduler see? | ``queue.py`` |
| whose turn is it, and which event ends a wait? | ``turns.py``; ``host.py`` is one host |
| when may the next request to a host leave? | ``pace.py``: ``Pace.due_at``, a pure state machine |
| from which moment does a delay count? | ``departures.py`` |
| what keeps delays, even for redirects, retries and other queues? | ``door.py``, ``line.py`` |
| what delay does a downloader slot show? | ``slot_delays.py`` |
| which of several crawls goes next? | ``book*.py`` |
| how are other crawls asked? | ``turn_among_crawls.py`` for a host, ``shared_pace.py`` for all |
| what happens when a host refuses pages? | ``refusals.py``: 429, 503, Retry-After, walls |
| how often may a host that refuses requests be asked? | ``throttle.py``, ``gap_search.py`` |
| does it refuse fewer requests then? | ``refusal_shares.py``, ``probes.py`` |
| what counts towards ``CONCURRENT_REQUESTS``? | ``downloader.py`` |
| what if this machine is short of files or ports? | ``own_shortage.py`` |
| when is a robots.txt fetched? | ``discovery.py`` |
| what does robots.txt say of requests that wait? | ``origin_states.py`` |
| which hosts and sites are not asked for a while? | ``given_up.py`` |
| what does the queue ask and tell the crawl? | ``known.py`` |
| where are the requests themselves? | ``lanes.py``, ``stored_lanes.py`` |
"""
