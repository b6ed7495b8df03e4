"""What does a page ask, and what else does a robots.txt say of pages?

``headers_and_meta_tags.py`` reads X-Robots-Tag and the like; because of it, ``middleware.py`` drops
requests and items. ``spiders.py`` is for spiders, which look at links and sitemaps themselves.
``stamp.py`` keeps what a site wants done with its pages, ``sitemaps.py`` which sitemaps it names.
"""
