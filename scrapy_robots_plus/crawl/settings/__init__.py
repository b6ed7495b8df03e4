"""Every setting: what it is called, what it may be, what it means, in one place.

To add one, declare it in ``declared.py``; then ``make tables``.
"""

from .declared import names as names
from .declared import request_override as request_override
from .errors import RobotsSettingsError as RobotsSettingsError
from .errors import SettingProblem as SettingProblem
from .errors import end_crawl as end_crawl
from .reading import dialect_in as dialect_in
from .robots_settings import RobotsSettings as RobotsSettings
from .scrapys_own import caches_http as caches_http
from .scrapys_own import default_user_agent as default_user_agent
from .scrapys_own import disk_queue_class as disk_queue_class
from .scrapys_own import dupefilter_class as dupefilter_class
from .scrapys_own import handled_statuses as handled_statuses
from .scrapys_own import has_workers as has_workers
from .scrapys_own import how_files_are_asked_for as how_files_are_asked_for
from .scrapys_own import is_chosen as is_chosen
from .scrapys_own import job_folder as job_folder
from .scrapys_own import log_interval as log_interval
from .scrapys_own import logs_all_duplicates as logs_all_duplicates
from .scrapys_own import names_our_queue as names_our_queue
from .scrapys_own import parser_class as parser_class
from .scrapys_own import queue_class as queue_class
from .scrapys_own import redis_url as redis_url
from .scrapys_own import retry_times as retry_times
from .scrapys_own import scheduler_class as scheduler_class
from .scrapys_own import start_disk_queue_class as start_disk_queue_class
from .scrapys_own import throttles_automatically as throttles_automatically
from .scrapys_own import user_agent_in_headers as user_agent_in_headers
from .unknown import report_unknown_settings as report_unknown_settings
from .unknown import unknown_settings as unknown_settings
from .without_effect import report_settings_without_effect as report_settings_without_effect
from .without_effect import settings_without_effect as settings_without_effect
