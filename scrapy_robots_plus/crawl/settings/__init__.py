"""Every setting: what it is called, what it may be, what it means, in one place."""

from .errors import RobotsSettingsError as RobotsSettingsError
from .errors import SettingProblem as SettingProblem
from .robots_settings import RobotsSettings as RobotsSettings
from .robots_settings import dialect_in as dialect_in
from .robots_settings import job_folder as job_folder
from .robots_settings import log_interval as log_interval
from .robots_settings import names as names
from .robots_settings import parser_class as parser_class
from .robots_settings import queue_class as queue_class
from .robots_settings import report_unknown_settings as report_unknown_settings
from .robots_settings import scheduler_class as scheduler_class
from .robots_settings import unknown_settings as unknown_settings
