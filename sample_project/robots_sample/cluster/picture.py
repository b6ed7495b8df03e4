"""What the hosts saw of all workers together: a table, and a picture as SVG."""

from itertools import pairwise

WIDTH, ROW, LEFT, RIGHT, TOP = 640, 26, 130, 120, 34
COLOURS = ("#2a6f97", "#c8553d", "#6a994e", "#7d5ba6", "#c98b1b", "#5c5c5c")
COLUMNS = ("host", "delay asked", "smallest gap", "robots.txt fetched", "pages", "workers")


def table(hosts, visits):
    rows = [COLUMNS, *(row(host, delay, visits) for host, delay in hosts.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
        for first, *rest in rows
    )


def row(host, delay, visits):
    its = [visit for visit in visits if visit.host == host]
    pages = pages_of(host, visits)
    return (
        host,
        f"{delay:g} s" if delay else "-",
        f"{smallest_gap(pages):.2f} s",
        str(len(its) - len(pages)),
        str(len(pages)),
        str(len({visit.worker for visit in pages})),
    )


def pages_of(host, visits):
    return sorted(v for v in visits if v.host == host and v.path != "/robots.txt")


def smallest_gap(pages):
    gaps = (later.at - earlier.at for earlier, later in pairwise(pages))
    return min(gaps, default=float("inf"))


def picture(hosts, crawls):
    """*crawls*: the visits of each, by title. A row for each host, a mark for each page, in the
    colour of the worker that fetched it.
    """
    longest = max(duration(visits) for visits in crawls.values())
    parts, top = [], TOP
    for title, visits in crawls.items():
        parts.append(text(8, top, title, "start", bold=True))
        parts.append(text(LEFT + WIDTH + RIGHT - 8, top, "smallest gap", "end"))
        for host, delay in hosts.items():
            top += ROW
            parts += host_row(host, delay, visits, longest, top)
        top += ROW + 16
    parts += [
        text(LEFT + second / longest * WIDTH, top - 12, f"{second} s", "middle")
        for second in range(0, int(longest) + 1, 1 if longest < 15 else 5)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{top}" '
        'font-family="sans-serif" font-size="13">\n<rect width="100%" height="100%" fill="white"/>'
        "\n" + "\n".join(parts) + "\n</svg>\n"
    )


def host_row(host, delay, visits, longest, top):
    pages = pages_of(host, visits)
    workers = sorted({visit.worker for visit in visits})
    began = min(visit.at for visit in visits)
    asked = f", {delay:g} s" if delay else ""
    gap = smallest_gap(pages)
    yield text(LEFT - 8, top + 4, f"{host.removesuffix('.example')}{asked}", "end")
    yield f'<rect x="{LEFT}" y="{top - 9}" width="{WIDTH}" height="18" fill="#f1f1f1"/>'
    for visit in pages:
        x = LEFT + (visit.at - began) / longest * (WIDTH - 4)
        colour = COLOURS[workers.index(visit.worker) % len(COLOURS)]
        yield f'<rect x="{x:.1f}" y="{top - 9}" width="3" height="18" fill="{colour}"/>'
    broken = gap < 0.95 * delay
    colour = "#b00020" if broken else "black"
    yield text(LEFT + WIDTH + RIGHT - 8, top + 4, f"{gap:.2f} s", "end", bold=broken, fill=colour)


def duration(visits):
    times = [visit.at for visit in visits]
    return max(times) - min(times) or 1


def text(x, y, words, anchor, bold=False, fill="black"):
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}" fill="{fill}"{weight}>{words}</text>'
