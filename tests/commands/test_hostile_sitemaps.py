"""``scrapy robots plan --sitemap``: what a site writes into its sitemaps and robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..sites import answer
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

NO_URLS = ["http://[", "http://[x]/", "http://site.example:x/", "https://", "http:///x", "x y"]


@pytest.mark.parametrize("name", NO_URLS)
def test_what_is_not_a_url_in_a_sitemap_is_left_out(
    sites: Sites, tmp_path: Path, name: str
) -> None:
    host = sites.host("")
    urls = f"<urlset><url><loc>{name}</loc></url><url><loc>{host.url('/a')}</loc></url></urlset>"
    host.pages["/map.xml"] = answer(urls)
    index = "".join(
        f"<sitemap><loc>{each}</loc></sitemap>" for each in (name, host.url("/map.xml"))
    )
    host.pages["/index.xml"] = answer(f"<sitemapindex>{index}</sitemapindex>")
    host.robots(f"Sitemap: {name}\nSitemap: {host.url('/index.xml')}\n")
    done = Robots(tmp_path)("plan", "--sitemap", host.url("/robots.txt"))
    assert done.status == 1
    assert "1 host: 1 URL allowed" in done.output
    assert f"left out: {name}" in done.errors


def test_a_site_cannot_name_files_of_this_machine(sites: Sites, tmp_path: Path) -> None:
    """Such as a device that never ends."""
    host = sites.host("")
    (tmp_path / "own.xml").write_text("<urlset><url><loc>http://own.example/</loc></url></urlset>")
    names = [str(tmp_path / "own.xml"), "own.xml", f"file://{tmp_path}/own.xml", "/dev/zero"]
    index = "".join(f"<sitemap><loc>{each}</loc></sitemap>" for each in names)
    host.pages["/index.xml"] = answer(f"<sitemapindex>{index}</sitemapindex>")
    done = Robots(tmp_path)("plan", "--sitemap", host.url("/index.xml"))
    assert "own.example" not in done.output
    assert "Left out: 4 sitemaps" in done.lines
    assert [line for line in done.errors.splitlines() if "http or https URL" not in line] == []


def test_an_argument_that_is_not_a_url(tmp_path: Path) -> None:
    for name in NO_URLS[:2]:
        done = Robots(tmp_path)("plan", "--sitemap", name)
        assert (done.status, done.output) == (2, "")
        assert done.errors.startswith(f"scrapy robots plan: {name} ")
