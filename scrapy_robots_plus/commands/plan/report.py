"""A plan, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.commands.output import Style
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.report.progress import duration

from .figures import Host

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_robots_plus.commands.output import Output

    from .figures import Figures, Total

_COLUMNS = "{:>14} {:>10} {:>10} {:>10} {:>8}  "
_HEADINGS = ("TAKES", "ALLOWED", "DENIED", "UNDECIDED", "DELAY")


def print_table(figures: Figures, output: Output, top: int) -> None:
    """The *top* hosts, longest first (0 for all), and what holds for the whole."""
    hosts = figures.longest_first()
    shown = hosts[:top] if top else hosts
    if shown:
        output.line((_COLUMNS.format(*_HEADINGS) + "HOST", Style.BOLD))
    for host in shown:
        columns = _columns(figures.seconds(host), host, f"{host.timetable.delay:g} s")
        notes = "; ".join(_notes(host))
        output.line((columns, _style(host)), host.name, f"  ({notes})" if notes else "")
    if len(hosts) > len(shown):
        rest = hosts[len(shown) :]
        output.line(_columns(figures.seconds(rest[0]), _sum(rest), ""), f"{len(rest):,} more")
    for line in ("", *_summary(figures, hosts)):
        output.line(line)


def print_json(figures: Figures, output: Output) -> None:
    """An object for each host, longest first, and one for the whole."""
    hosts = figures.longest_first()
    for host in hosts:
        output.json(_host_fields(figures, host))
    output.json(_total_fields(figures, hosts))


def _columns(seconds: float, host: Host, delay: str) -> str:
    counts = (f"{count:,}" for count in (host.allowed, host.denied, host.undecided))
    return _COLUMNS.format(duration(seconds) if seconds else "-", *counts, delay)


def _style(host: Host) -> Style:
    if host.undecided:
        return Style.UNSURE
    return Style.PLAIN if host.allowed else Style.FAINT


def _sum(hosts: Sequence[Host]) -> Host:
    return Host(
        "",
        allowed=sum(host.allowed for host in hosts),
        denied=sum(host.denied for host in hosts),
        undecided=sum(host.undecided for host in hosts),
    )


def _notes(host: Host) -> Iterator[str]:
    asked, timetable = host.asked, host.timetable
    if asked is not None and asked != timetable.delay:
        yield f"asks for {asked:g} s"
    for window, delay in timetable.hourly:
        yield f"{delay:g} s during {window}"
    for visit_time in dict.fromkeys(host.visit_times.values()):
        ignored = "" if timetable.visits else ", ignored (ROBOTS_VISIT_TIME)"
        yield f"Visit-time {visit_time}{ignored}"


def _summary(figures: Figures, hosts: Sequence[Host]) -> Iterator[str]:
    whole, total = _sum(hosts), figures.total()
    yield (
        f"{counted(len(hosts), 'host')}: {counted(whole.allowed, 'URL')} allowed, "
        f"{whole.denied:,} denied, {whole.undecided:,} undecided"
    )
    unread = sum(1 for host in hosts if host.undecided)
    if unread:
        yield f"Undecided, because robots.txt cannot be read: {counted(unread, 'host')}"
    if figures.not_http:
        yield f"Left out, because not http or https: {counted(figures.not_http, 'URL')}"
    if figures.invalid:
        yield f"Left out, because not a URL: {counted(figures.invalid, 'line')}"
    if figures.sitemaps_unread:
        yield f"Left out: {counted(figures.sitemaps_unread, 'sitemap')}"
    yield _total_in_words(total, figures)
    if figures.limits.other_queue and len(hosts) > 1:
        yield "More with this SCHEDULER_PRIORITY_QUEUE, in which hosts wait for each other."
    if figures.limits.autothrottle:
        yield "More with AUTOTHROTTLE_ENABLED, which adds to the delays."


def _total_in_words(total: Total, figures: Figures) -> str:
    limits, because = figures.limits, total.because
    if because is None:
        return "Politeness takes no time."
    least = f"At least {duration(total.seconds)}: "
    if isinstance(because, Host):
        paced = f", {because.timetable.delay:g} s apart" if because.timetable.delay else ""
        return f"{least}{counted(because.allowed, 'request')} to {because.name}{paced}"
    return (
        f"{least}responses of {limits.response_time:g} s, {limits.concurrency:,} at a time "
        f"({because})"
    )


def _host_fields(figures: Figures, host: Host) -> dict[str, Any]:
    timetable = host.timetable
    return {
        "type": "host",
        "host": host.name,
        "origins": [str(origin) for origin in host.origins],
        "allowed_urls": host.allowed,
        "denied_urls": host.denied,
        "undecided_urls": host.undecided,
        "delay_asked": host.asked,
        "delay": timetable.delay,
        "hourly": [{"hours": str(hours), "delay": delay} for hours, delay in timetable.hourly],
        "visit_time": next(iter(host.visit_times.values()), None),
        "visit_time_obeyed": timetable.visits is not None,
        "seconds": figures.seconds(host),
    }


def _total_fields(figures: Figures, hosts: Sequence[Host]) -> dict[str, Any]:
    whole, total = _sum(hosts), figures.total()
    because = total.because
    return {
        "type": "total",
        "hosts": len(hosts),
        "allowed_urls": whole.allowed,
        "denied_urls": whole.denied,
        "undecided_urls": whole.undecided,
        "not_http": figures.not_http,
        "invalid": figures.invalid,
        "sitemaps_unread": figures.sitemaps_unread,
        "seconds": total.seconds,
        "because": because.name if isinstance(because, Host) else because,
    }
