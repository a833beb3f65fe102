"""Addresses that people give: what may be reached through us, and what may not."""

from __future__ import annotations

import ipaddress

import pytest

from ingest.outbound.addresses import Policy, RefusedAddress, check_address, check_addresses, check_url

NOWHERE_HERE = Policy()
HERE = Policy(loopback=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.5:8000/metrics", "https://192.168.1.9/metrics", "http://172.16.0.1/", "http://[fd12::1]:8000/metrics",
        "https://vllm.example.org/metrics?model=a", "http://8.8.8.8/", "HTTPS://vllm.example.org/",
    ],
)  # fmt: skip
def test_private_and_public_servers_may_be_reached(url: str) -> None:
    check_url(url, NOWHERE_HERE)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.org/", "gopher://example.org/", "unix:///var/run/x", "javascript:alert(1)",
        "//example.org/", "example.org/metrics", "", "http://", "http:///metrics", "http://example.org:0/",
        "http://example.org:99999/", "http://user:pass@example.org/", "http://user@example.org/",
        "http://exa mple.org/", "http://example.org/\x00", "http://[::1", "http://" + "a" * 3000,
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_web_server_is_refused(url: str) -> None:
    with pytest.raises(RefusedAddress):
        check_url(url, HERE)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.170.2", "169.254.0.1", "fe80::1", "fd00:ec2::254", "100.100.100.200",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254",
        "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1",
    ],
)  # fmt: skip
def test_link_local_metadata_and_no_hosts_are_refused_whatever_is_listed(address: str) -> None:
    generous = Policy(loopback=True, allowed=("0.0.0.0/0", "::/0", address))
    with pytest.raises(RefusedAddress):
        check_address("engine", ipaddress.ip_address(address), generous)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
)
def test_this_machine_is_reached_only_where_it_is_open(address: str) -> None:
    told = ipaddress.ip_address(address)
    with pytest.raises(RefusedAddress, match="SIXSTAGE_ALLOWED_TARGETS"):
        check_address("engine", told, NOWHERE_HERE)
    check_address("engine", told, HERE)


def test_a_listed_name_or_network_of_this_machine_may_be_reached() -> None:
    listed = Policy(allowed=("engine.local", "127.0.0.2/32"))
    check_address("Engine.Local.", ipaddress.ip_address("127.0.0.1"), listed)
    check_address("other", ipaddress.ip_address("127.0.0.2"), listed)
    with pytest.raises(RefusedAddress):
        check_address("other", ipaddress.ip_address("127.0.0.3"), listed)


def test_a_name_that_leads_to_a_good_and_a_bad_address_is_refused() -> None:
    with pytest.raises(RefusedAddress):
        check_addresses("rebinding.example", ["93.184.216.34", "169.254.169.254"], NOWHERE_HERE)
    assert check_addresses("fine.example", ["10.0.0.1", "10.0.0.1", "fd12::1"], NOWHERE_HERE) == ["10.0.0.1", "fd12::1"]


def test_localhost_is_known_without_a_name_server() -> None:
    with pytest.raises(RefusedAddress):
        check_url("http://localhost:8000/metrics", NOWHERE_HERE)
    with pytest.raises(RefusedAddress):
        check_url("http://LOCALHOST./", NOWHERE_HERE)
    check_url("http://localhost:8000/metrics", HERE)
