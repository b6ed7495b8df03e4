"""What pages ask of crawlers, and what else a robots.txt says about pages.

``x_robots_tag_and_meta_tags.py`` reads headers and meta tags; ``middleware.py`` drops requests and
items accordingly. ``spiders.py`` is for spiders, which look at links and sitemaps themselves.
``stamp.py`` keeps what a site wants done with its pages, ``items.py`` puts that into items, and
``sitemaps.py`` finds the sitemaps.
"""
