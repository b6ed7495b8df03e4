"""URLs of Redis servers: which are accepted, and that no password is ever shown."""

from __future__ import annotations

import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.storage.redis_url import (
    PIP,
    check_redis_url,
    hidden,
    is_cluster,
    secrets_in,
    without_password,
)

pytest.importorskip("redis")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost", "redis://localhost"),
        ("redis://localhost:6379/3", "redis://localhost:6379/3"),
        ("redis://localhost/", "redis://localhost/"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
        ("redis://:se%2Fcret@10.0.0.1:6379/0", "redis://***@10.0.0.1:6379/0"),
        ("redis://crawler:secret@redis.example", "redis://***@redis.example"),
        ("redis://a.example/0?password=secret&username=crawler", "redis://a.example/0"),
        ("redis://a.example?cluster=true&socket_timeout=2.5", "redis://a.example"),
        ("rediss://:secret@a.example?ssl_ca_certs=/ca.pem", "rediss://***@a.example"),
        ("rediss://a.example/1?ssl_cert_reqs=none", "rediss://a.example/1"),
        ("unix:///run/redis/redis.sock", "unix:///run/redis/redis.sock"),
        ("unix://crawler:secret@/run/a@b/s?db=2", "unix://***@/run/a@b/s"),
        ("redis://a.example?client_name=a://b", "redis://a.example"),
        ("redis://:gr\u00fc\u00df\u00a0e@a.example", "redis://***@a.example"),
        ("rediss://:gr\u00fc\u00df\u00a0e@a.example", "rediss://***@a.example"),
        ("unix://:gr\u00fc\u00df\u00a0e@/run/s", "unix://***@/run/s"),
    ],
)
def test_a_url_is_accepted_and_shown_without_what_is_secret(url: str, shown: str) -> None:
    assert check_redis_url(url) == url
    assert hidden(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "redis:secret",
        "redis:/secret",
        "redis://",
        "redis:///0",
        "redis://:secret",
        "redis://:sec/ret@a.example/0",
        "redis://:sec?ret@a.example/0",
        "redis://sec?ret@a.example/0",
        "redis://:sec#ret@a.example/0",
        "redis://:sec@ret@a.example/0",
        "redis://:sec ret@a.example/0",
        "redis://a.example:secret",
        "redis://a.example:6379/secret",
        "redis://a.example:6379/0#secret",
        "redis://a.example/0?secret=secret",
        "redis://a.example/0?secret",
        "redis://a.example/0?ssl_keyfile=secret",
        "rediss://a.example/0?password=a b secret",
        "redis://\u00e4.secret.example",
        "rediss://\u00e4.secret.example",
        "unix://secret/run/s",
        "unix://:secret@",
        "unix://:sec/ret@/run/s",
        "http://:secret@a.example/",
        "secret",
        "",
    ],
)
def test_what_is_not_understood_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected redis://|accepted are") as caught:
        check_redis_url(url)
    assert not {"secret", "sec", "ret"} & set(_words(str(caught.value)))


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text).split()


ACCEPTED = (
    "expected redis://[USER:PASSWORD@]HOST[:PORT][/DB], the same with rediss:// for TLS, or "
    "unix://[USER:PASSWORD@]/PATH[?db=DB]; special characters in USER and PASSWORD are "
    "percent-encoded"
)
OPTIONS = "client_name, cluster, db, password, protocol, socket_connect_timeout, socket_timeout"
TLS = "ssl_ca_certs, ssl_ca_path, ssl_cert_reqs, ssl_certfile, ssl_check_hostname, ssl_keyfile"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("redis://:sec#ret@[", f"'redis://***' is not the URL of a Redis server; {ACCEPTED}"),
        ("secret", f"'***' is not the URL of a Redis server; {ACCEPTED}"),
        (
            "redis://me:secret@a.example/1?retry=5",
            f"'redis://***@a.example/1' has an unknown option; accepted are {OPTIONS}, username",
        ),
        (
            "rediss://a.example?retry=5",
            f"'rediss://a.example' has an unknown option; accepted are {OPTIONS}, {TLS}, username",
        ),
    ],
)
def test_an_error_says_what_is_accepted(value: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"accepted|expected") as caught:
        check_redis_url(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://me:secret@a.example/1?password=secret", "redis://***@a.example/1"),
        ("redis:secret", "redis:***"),
        (" b'REDISS://:sec/ret@a.example'", "***"),
        ("'unix:/secret'", "***"),
        ("postgres://me:secret@a.example/1", "postgres://***@a.example/1"),
        ("sqlite:folder/a@b.db", "sqlite:folder/a@b.db"),
    ],
)
def test_of_a_url_of_any_kind_no_password_is_shown(text: str, shown: str) -> None:
    assert without_password(text) == shown


@given(
    scheme=st.sampled_from(["redis", "rediss", "unix"]),
    before=st.sampled_from(["", ":", "user:", "u:p@", "a.example/0?password="]),
    secret=st.text(min_size=1).map("\u00df".__add__),
    after=st.sampled_from(["@a.example", "@/run/s", "@a.example:1/0?db=1", "&db=1", ""]),
)
def test_no_password_is_shown_however_it_is_written(
    scheme: str, before: str, secret: str, after: str
) -> None:
    assert secret not in hidden(f"{scheme}://{before}{secret}{after}")


def test_the_secrets_are_known_as_written_and_as_meant() -> None:
    assert secrets_in("redis://us%65r:p%40ss:word@a.example?password=other") == [
        "p%40ss:word",
        "p@ss:word",
        "us%65r",
        "other",
        "user",
    ]
    assert secrets_in("redis://a.example?username=me") == ["me"]
    assert secrets_in("redis://a.example") == []
    assert secrets_in("redis://default:@a.example") == []
    assert secrets_in("not a URL") == []


def test_a_url_says_whether_its_server_is_part_of_a_cluster() -> None:
    assert is_cluster("redis://a.example?db=0&cluster=true")
    assert is_cluster("redis://a.example?cluster=1")
    assert not is_cluster("redis://a.example?cluster=false")
    assert not is_cluster("redis://a.example")


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ValueError, match=r'pip install "scrapy-robots-plus\[redis\]"') as caught:
        check_redis_url("redis://:secret@a.example")
    assert "secret" not in str(caught.value)


def test_what_installs_the_package_may_be_pasted_into_a_shell() -> None:
    assert shlex.split(PIP) == ["pip", "install", "scrapy-robots-plus[redis]"]
