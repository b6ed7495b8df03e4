"""Every stats key of the package: a constant for each, with what it counts.

The tables of docs/stats.md are made from this module: their headings are its comments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def filled(key: str, part: object) -> str:
    """Returns *key* with *part* in place of the placeholder in angle brackets."""
    return f"{key.partition('<')[0]}{part}"


def by_part(counts: Mapping[str, Any], key: str) -> dict[str, int]:
    """Returns what was counted under *key*, by what stands in place of its placeholder.

    *counts*: all stats of a crawl.
    """
    prefix = filled(key, "")
    return {
        name.removeprefix(prefix): count
        for name, count in counts.items()
        if name.startswith(prefix)
    }


# robots.txt files

REQUESTS = "robotstxt/request_count"
"""robots.txt requests, with redirects and retries"""
RESPONSES = "robotstxt/response_count"
"""responses to them"""
RESPONSES_BY_STATUS = "robotstxt/response_status_count/<status>"
"""responses by HTTP status"""
EXCEPTIONS = "robotstxt/exception_count/<exception>"
"""requests that ended in an exception, by its type, as Scrapy names it: `<class 'TimeoutError'>`"""
FAILURES = "robotstxt/failure_count/<failure>"
"""robots.txt files that could not be read, by failure: `timeout`, `dns`, `connection`, `cut`,
`undecodable`, `challenge`, `redirects`, `bad_redirect`, `error`"""
REDIRECTS = "robotstxt/redirect_count"
"""redirects of robots.txt requests that were followed"""
RETRIES = "robotstxt/retry_count"
"""robots.txt requests that were sent again"""
REFRESHES = "robotstxt/refresh_count"
"""times an expired robots.txt was looked up again, in the store and on the site, while the old copy
was still used"""
SHARED = "robotstxt/shared_count"
"""robots.txt files that this crawl did not fetch because [another
one](freshness.md#one-fetch-for-several-crawls) was fetching them at that moment"""
CHANGED = "robotstxt/changed"
"""robots.txt files that changed since the last usable copy"""
PARSER_ERRORS = "robotstxt/parser_errors"
"""times `ROBOTSTXT_PARSER` failed, on a file, a URL or a delay"""

# Open files and connections

SHORTAGES = "robotstxt/own_shortage/<of>"
"""times that a connection could not be opened because [this machine](limits.md#open-files) was
short of `files`, `ports` or `memory`; the request was sent again later"""
IDLE_CLOSED = "robotstxt/idle_closed"
"""connections that were kept open for later requests, and closed so that a quarter of the files
that this process may open stay free"""

# Errors

OWN_ERRORS = "robotstxt/own_errors"
"""errors of this package itself; the first one closes the spider with the reason `robots_error`"""

# Verdicts

FORBIDDEN = "robotstxt/forbidden"
"""requests that were denied"""
FORBIDDEN_BY_REASON = "robotstxt/forbidden/<reason>"
"""the same by [reason](#reasons)"""
OVERRIDDEN = "robotstxt/override"
"""requests that were judged under an [override](overrides.md), allowed or denied"""
OVERRIDDEN_BY_REASON = "robotstxt/override/<reason>"
"""the same by the reason of the override, or by its keys if it has none; the first 100 only"""
OVERRIDE_ERRORS = "robotstxt/override_errors"
"""requests that were not sent because their `robots_override` is wrong"""
NOT_ASKED = "robotstxt/dont_obey"
"""requests that were sent with `dont_obey_robotstxt`"""

# Store

STORE_HITS = "robotstxt/store/hits"
"""times a robots.txt that was not in memory, or had expired there, was found in the store, expired
or not; not counted if the store is `memory`"""
STORE_MISSES = "robotstxt/store/misses"
"""times it was not in the store, or could not be used: its status has another meaning now, or the
crawl knows that it is out of date"""
STORE_ERRORS = "robotstxt/store/errors"
"""times the store failed and the crawl continued from memory; neither a hit nor a miss"""

# Pace

DELAYS_KEPT = "robotstxt/crawl_delay/applied"
"""Crawl-delays that were honoured"""
DELAYS_CLAMPED = "robotstxt/crawl_delay/clamped"
"""those of them that were longer than `ROBOTS_CRAWL_DELAY_MAX`"""
SHARED_PACE_WAITS = "robotstxt/shared_pace/waits"
"""requests that were held until other crawls had left their host to them, see
[ROBOTS_SHARED_PACE](shared-pace.md)"""
SHARED_PACE_ERRORS = "robotstxt/shared_pace/errors"
"""times the file or server of `ROBOTS_SHARED_PACE` could not be asked or told"""
RETRY_AFTER = "robotstxt/retry_after"
"""responses 429 or 503 to pages whose Retry-After asked for a pause"""
REFUSED = "robotstxt/backoff/refused"
"""answers 429 or 503 to pages that were refusals of the host, not errors of the page"""
BACKOFFS = "robotstxt/backoff/slowed_down"
"""times that a host was left alone and then asked less often because of it; requests that were
under way together count once"""
GIVEN_UP = "robotstxt/backoff/given_up"
"""hosts that were given up because they answered nothing but 429 with Retry-After"""
STANDINGS = "robotstxt/standing/<standing>"
"""times that a site came to be `walled`, `priced`, `limited`, `broken`, or `open` again, [by its
answers](walls.md) to several pages"""
REQUEUED = "robotstxt/put_back"
"""requests that went back to the scheduler, to be sent when their robots.txt can be read, or when
the job is resumed; includes those that were waiting for a Retry-After or Visit-time when the crawl
was stopped"""

# Preferences, directives of pages

PREFERENCES = "robotstxt/preferences/<preference>"
"""responses whose site, by robots.txt or by headers, allows or disallows a use; the preferences are
`train-ai/disallow`, `search/allow` and so on"""
CONTRADICTIONS = "robotstxt/contradictions"
"""responses whose site both allows and disallows the same use: it counts as disallowed"""
TDMREP = "robotstxt/tdmrep/<outcome>"
"""answers to requests for `/.well-known/tdmrep.json`, or failures of them: `200`, `404`, `timeout`;
the requests are also among those for robots.txt files"""
OBJECTIONS = "robotstxt/objections"
"""responses that the spider got although their site objects to a use in `ROBOTS_AI_USES`, as
`ROBOTS_AI_POLICY` is `observe`"""
ITEMS_NOT_STAMPED = "robotstxt/items_not_stamped"
"""items that have no field of the name `ROBOTS_ITEM_FIELD`, or none that can be assigned"""
PAGE_DIRECTIVES = "robotstxt/page_directives/<directive>"
"""pages with this [directive](page-directives.md), of those that were read for it"""
PAGE_ERRORS = "robotstxt/page_errors"
"""pages whose directives could not be read because of a bug, which is logged"""
NOFOLLOW_DROPPED = "robotstxt/nofollow/dropped"
"""requests that were dropped because of a page with `nofollow`; in observe mode, that would have
been"""
NOFOLLOW_MARKED = "robotstxt/nofollow/marked"
"""requests that were marked because of one"""
NOINDEX_DROPPED = "robotstxt/noindex/dropped"
"""items that were dropped because of a page with `noindex`; in observe mode, that would have
been"""
NOINDEX_MARKED = "robotstxt/noindex/marked"
"""items of a page with `noindex` that were kept because `ROBOTS_NOINDEX` is `observe`"""

# Sitemaps, Clean-param

SITEMAPS_FOUND = "robotstxt/sitemaps/found"
"""sitemaps that robots.txt files name, read so far"""
SITEMAPS_SCHEDULED = "robotstxt/sitemaps/scheduled"
"""sitemap requests that `ROBOTS_SITEMAPS` gave to the scheduler, duplicates included"""
SITEMAPS_LEFT_OUT = "robotstxt/sitemaps/left_out"
"""Sitemap lines that are not requested: what is no http or https URL, what has a user name, and
lines behind the first 5,000 of a file"""
CLEAN_PARAM_DROPPED = "robotstxt/clean_param/dropped"
"""requests that were dropped because their site's Clean-param calls their URL equal to one before
(`ROBOTS_CLEAN_PARAM`)"""

# Queue

QUEUE_LOST = "robotstxt/queue/lost"
"""requests of a job that could not be read back, see
[jobs](jobs.md#when-the-file-cannot-be-used)"""
QUEUE_KEPT_IN_MEMORY = "robotstxt/queue/kept_in_memory"
"""requests that could not be written to the job's file, or not shared with other workers"""
QUEUE_RECOVERED = "robotstxt/queue/recovered"
"""requests that were under way when the last run of the job was killed, and are sent again"""
QUEUE_SET_ASIDE = "robotstxt/queue/set_aside"
"""requests of a job that are set aside, in this run or an earlier one: the process was killed while
it processed them, again and again, or the spider can no longer send them, see
[jobs](jobs.md#a-page-that-ends-the-process)"""
SHARED_QUEUE_ERRORS = "robotstxt/shared_queue/errors"
"""times that the Redis server of `RobotsQueue` did not do what it was asked"""
SHARED_QUEUE_KEPT = "robotstxt/shared_queue/kept_in_memory"
"""requests that were kept in memory until that server was back"""
SHARED_QUEUE_MOVED = "robotstxt/shared_queue/moved"
"""requests that were taken over from a queue of scrapy-redis"""
SHARED_QUEUE_FORGOTTEN = "robotstxt/shared_queue/forgotten"
"""times that the server did not know this worker any more: it was not heard of for longer than
`ROBOTS_WORKER_LIFETIME`, so that others got its requests"""
SHARED_QUEUE_LOSSES = "robotstxt/shared_queue/losses"
"""times that this worker found that the server had been started again, that another one had taken
over, or that keys were missing"""
SHARED_QUEUE_LOST = "robotstxt/shared_queue/lost"
"""requests that are known to have been lost on the server, in this run or before, see [lost
requests](cluster-operation.md#when-something-dies)"""

# Audit log

AUDIT_LINES = "robotstxt/audit/lines"
"""lines that were written to the audit log"""
AUDIT_LOST = "robotstxt/audit/lost"
"""lines of the audit log and exchanges of the WARC file that could not be written, and no longer
wait to be"""
AUDIT_ERRORS = "robotstxt/audit/errors"
"""times that the audit log, a robots.txt beside it or the WARC file could not be written, or the
log was removed"""
