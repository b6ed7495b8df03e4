"""Every touch of a private or version-dependent name of Scrapy.

Each bridge says which Scrapy versions need it and when it can go. "2.14 to 2.19" are all that this
package supports. The import lines below are what the rest of the package uses, as ``compat.name``.
"""

from .coroutines import CANCELLED as CANCELLED
from .coroutines import loop_in_use as loop_in_use
from .coroutines import run_in_background as run_in_background
from .coroutines import sleep as sleep
from .coroutines import wait_for as wait_for
from .crawler import LOGGERS_OF_FAILED_CRAWLS as LOGGERS_OF_FAILED_CRAWLS
from .crawler import ClosingWatch as ClosingWatch
from .crawler import close_crawl as close_crawl
from .crawler import crawler_process as crawler_process
from .crawler import dealt_with as dealt_with
from .crawler import engine_of as engine_of
from .crawler import fingerprint as fingerprint
from .crawler import idle_stats as idle_stats
from .crawler import is_closing as is_closing
from .crawler import is_listened_to as is_listened_to
from .crawler import log_failed_crawls_once as log_failed_crawls_once
from .crawler import mark_as_failed as mark_as_failed
from .crawler import spider_of as spider_of
from .crawler import stats_of as stats_of
from .crawler import wake_engine as wake_engine
from .failures import failure_of as failure_of
from .handlers import DownloadFunction as DownloadFunction
from .handlers import StandIn as StandIn
from .handlers import make_room as make_room
from .handlers import stand_before_handlers as stand_before_handlers
from .handlers import watch_handovers as watch_handovers
from .middlewares import http_cache as http_cache
from .middlewares import last_process_request as last_process_request
from .middlewares import robots_parsed as robots_parsed
from .open_files import most_queue_files as most_queue_files
from .open_files import most_sockets as most_sockets
from .queues import Part as Part
from .queues import best_priority as best_priority
from .queues import count_parts as count_parts
from .queues import fits_on_disk as fits_on_disk
from .queues import next_request as next_request
from .queues import open_part as open_part
from .queues import part_in_turn as part_in_turn
from .queues import part_name as part_name
from .queues import part_names as part_names
from .queues import parts_of as parts_of
from .queues import path_safe as path_safe
from .queues import scheduler_persists as scheduler_persists
from .queues import take_out as take_out
from .sitemaps import parse_sitemap as parse_sitemap
from .slots import SLOT_META_KEY as SLOT_META_KEY
from .slots import least_delay as least_delay
from .slots import longest_delay as longest_delay
from .slots import look_again as look_again
from .slots import new_slot as new_slot
from .slots import set_slot_jitter as set_slot_jitter
from .slots import slot_clock as slot_clock
from .slots import slot_jitter as slot_jitter
from .slots import slot_key as slot_key
from .slots import watch_transfers as watch_transfers
from .threads import Courier as Courier
from .threads import CourierClosedError as CourierClosedError
from .threads import CourierError as CourierError
from .threads import CourierLateError as CourierLateError
from .threads import InPlace as InPlace
