"""Hosts on one machine: network namespaces on a bridge that lies in a namespace of its own.

No address, route or interface outside the namespaces is made or changed.
"""

import contextlib
import os
import secrets
import shutil
import subprocess

NET = "10.77.0"


def missing():
    """Why namespaces cannot be made here, if they cannot."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("ip") is None:
        return "needs ip (Debian: iproute2)"
    probe = f"c2s-{secrets.token_hex(3)}"
    if run("ip", "netns", "add", probe, check=False).returncode != 0:
        return "this machine does not let us make network namespaces"
    run("ip", "netns", "del", probe)
    return None


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True)


class Network:
    """A hub, where the servers live at `NET`.1, and hosts around it."""

    def __init__(self, hosts):
        name = f"c2s-{secrets.token_hex(3)}"
        self.hub = f"{name}-hub"
        self.hosts = [f"{name}-{number}" for number in range(1, hosts + 1)]

    def __enter__(self):
        for space in (self.hub, *self.hosts):
            run("ip", "netns", "add", space)
            self.inside(space, "link", "set", "lo", "up")
        self.inside(self.hub, "link", "add", "bridge0", "type", "bridge")
        self.inside(self.hub, "addr", "add", f"{NET}.1/24", "dev", "bridge0")
        self.inside(self.hub, "link", "set", "bridge0", "up")
        for number, space in enumerate(self.hosts, start=1):
            here = ["name", f"port{number}", "netns", self.hub]
            run("ip", "link", "add", "eth0", "netns", space, "type", "veth", "peer", *here)
            self.inside(self.hub, "link", "set", f"port{number}", "master", "bridge0", "up")
            self.inside(space, "addr", "add", f"{NET}.{number + 1}/24", "dev", "eth0")
            self.inside(space, "link", "set", "eth0", "up")
        return self

    def __exit__(self, *_):
        for space in (*self.hosts, self.hub):
            with contextlib.suppress(subprocess.CalledProcessError):
                run("ip", "netns", "del", space)

    def inside(self, space, *command):
        run("ip", "-n", space, *command)


def link(hub, number, state):
    """Cut a host's cable, or mend it."""
    run("ip", "-n", hub, "link", "set", f"port{number}", state)


def within(space, *command):
    """A command that runs in a namespace."""
    return ["ip", "netns", "exec", space, *map(str, command)]
