"""Workers on several hosts (`make scale`): what 1, 2 and 4 of them do in a minute, and the fate of one that is cut off.

Each host is a network namespace with a home of its own; rows, doorbell and bytes are in PostgreSQL, Redis and SeaweedFS
in another one. They share the cores of this machine, so the CPU seconds of a job say as much as the rates do.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import namespaces
import psutil
import servers
from service import LEASE, ROOT, Service
from slow import SLOW, slow
from workers import descendants

from app import doctor
from app.core import settings, stores

HUB = f"{namespaces.NET}.1"
JOBS = 3  # a worker
KINDS = {  # epochs of both stages, and whether an epoch also waits a tenth of a second, as for a device of its own
    "computing": ((20, 20), False),
    "waiting": ((40, 40), True),
}


class Redis(servers.Redis):
    """Reachable from the other namespaces, which is all that can reach it."""

    url = property(lambda self: f"redis://{HUB}:{self.port}/0")

    def command(self):
        return [*super().command(), "--bind", f"127.0.0.1 {HUB}", "--protected-mode", "no"]


class Postgres(servers.Postgres):
    """The same."""

    def url_of(self, name):
        return super().url_of(name).replace("127.0.0.1", HUB)

    def initialise(self):
        super().initialise()
        with (self.folder / "data" / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {namespaces.NET}.0/24 trust\n")

    def command(self):
        return [
            str(part).replace("listen_addresses=127.0.0.1", "listen_addresses=*")
            for part in super().command()
        ]


class Host:
    """A worker in a namespace with a home of its own."""

    def __init__(self, service, number, space, *, waits):
        self.number, self.home = number, service.home / f"host-{number}-{int(waits)}"
        first = slow(self.home, SLOW if waits else "")
        env = service.env | {"C2S_HOME": str(self.home), "PYTHONPATH": f"{first}:{ROOT}"}
        self.log = self.home / "worker.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                namespaces.within(space, sys.executable, "-m", "worker", "--parent", os.getpid()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=env,
                start_new_session=True,
            )

    def cpu(self):
        """Seconds of processor that this worker and all its children have used, those that ended included."""
        used = 0.0
        for process in [psutil.Process(self.process.pid), *descendants(self.process.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                used += sum(process.cpu_times()[:4])
        return used

    def owns(self, owner):
        """Whether the owner of a row, host:boot:namespace:process:start, is one of our processes."""
        return bool(owner) and int(owner.split(":")[-2]) in {one.pid for one in descendants(self.process.pid)}

    def stop(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def hosts(service, spaces, count, *, waits):
    """So many hosts, each of which has done a job."""
    made = [Host(service, number, spaces[number - 1], waits=waits) for number in range(1, count + 1)]
    try:
        warm = [service.submit(service.dataset_id, epochs=(1, 1)) for _ in range(2 * count)]
        for job_id in warm:
            assert service.wait(job_id, seconds=180).state == "succeeded"
        yield made
    finally:
        for host in made:
            host.stop()


def throughput(service, spaces, count, kind):
    """Jobs a minute, CPU seconds a job, and the weights, of which there must be one kind."""
    epochs, waits = KINDS[kind]
    with hosts(service, spaces, count, waits=waits) as made:
        before, began = sum(host.cpu() for host in made), time.monotonic()
        ids = [service.submit(service.dataset_id, epochs=epochs) for _ in range(JOBS * count)]
        for job_id in ids:
            row = service.wait(job_id, seconds=400)
            assert row.state == "succeeded", row.error
        seconds, cpu = time.monotonic() - began, sum(host.cpu() for host in made) - before
    weights = {service.weights(job_id) for job_id in ids}
    assert len(weights) == 1, "every host must end with the same bits"
    return {
        "rate": 60 * len(ids) / seconds,
        "cpu": cpu / len(ids),
        "seconds": seconds,
        "weights": weights.pop(),
    }


def table(service, spaces):
    print(f"\n{JOBS} jobs a worker, {os.cpu_count()} cores for all of it\n")
    print("| jobs | workers | jobs/min | against one | CPU s/job (workers) | cores in use (workers) |")
    print("|---|---|---|---|---|---|")
    for kind in KINDS:
        alone = None
        for count in (1, 2, 4):
            found = throughput(service, spaces, count, kind)
            alone = alone or found["rate"]
            busy = found["cpu"] * found["rate"] / 60
            figures = f"{found['rate']:.1f} | {found['rate'] / alone:.2f} | {found['cpu']:.1f} | {busy:.2f}"
            print(f"| {kind} | {count} | {figures} |", flush=True)


def cut_off(service, hub, spaces):
    """A host loses its cable in the middle of a job, and gets it back when the job has ended elsewhere."""
    epochs, waits = KINDS["waiting"]
    with hosts(service, spaces, 2, waits=waits) as made:
        undisturbed = service.submit(service.dataset_id, epochs=epochs)
        assert service.wait(undisturbed).state == "succeeded"
        reference = service.weights(undisturbed)
        job_id = service.submit(service.dataset_id, epochs=epochs)
        service.until(lambda: service.checkpoints(job_id) >= 2, what="two states in the store")
        lost = next(host for host in made if host.owns(service.row(job_id).owner))
        namespaces.link(hub, lost.number, "down")
        began = time.monotonic()
        service.until(lambda: service.row(job_id).fence == 2, what="another host has the job")
        taken = time.monotonic() - began
        row = service.wait(job_id)
        assert (row.state, row.fence) == ("succeeded", 2), row.error
        assert service.weights(job_id) == reference, "not the weights of an undisturbed job"
        namespaces.link(hub, lost.number, "up")
        service.until(
            lambda: "claim_lost" in lost.log.read_text(), what="the old worker finds that it is fenced off"
        )
        again = service.submit(service.dataset_id, epochs=(1, 1))
        assert service.wait(again).state == "succeeded"
        time.sleep(LEASE)  # what was on its way arrives
    litter(service, job_id)
    assert service.weights(job_id) == reference
    assert (service.row(job_id).state, service.row(job_id).fence) == ("succeeded", 2)
    print(
        f"\ncut off: taken over after {taken:.1f} s (lease {LEASE:g} s), one model with the weights of an undisturbed"
    )
    print("job; back on the network, the old worker's write was refused by the fence")


def litter(service, job_id):
    """What the old worker wrote late lies under its own fence, where the janitor finds it."""
    chosen = settings.Settings(home=service.home / "doctor", store_url=service.env["C2S_STORE_URL"])
    store = stores.open_store(chosen)
    left = doctor.litter(service.database, store, young=0)
    assert {finding.key for finding in left} <= {f"jobs/{job_id}/1"}, left
    # whether or not its last words arrived in time, it could still say more
    folder = store.attempt(job_id, 1) / "run" / "model"
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").write_bytes(b"of a worker thought dead")
    store.keep_model(job_id, 1)
    found = doctor.litter(service.database, store, young=-1)
    assert {finding.key for finding in found} == {f"jobs/{job_id}/1"}, found
    for finding in found:
        doctor.remove(store, finding)
    assert doctor.examine(service.database, store, young=-1, deep=True) == []
    print(
        f"\nlate objects of the old worker before ours: {len(left)} attempt; removed as litter, nothing lost"
    )
    store.close()


def inside(part, hub, spaces):
    """The demonstration, run in the namespace of the servers."""
    with contextlib.ExitStack() as stack:
        redis, postgres = stack.enter_context(Redis()), stack.enter_context(Postgres())
        s3 = stack.enter_context(servers.S3(address=HUB))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c2s-scale-")))
        access = s3.environment("scale")
        os.environ.update({name: value for name, value in access.items() if name != "C2S_STORE_URL"})
        service = stack.enter_context(
            Service(home, database=postgres.database(), broker=redis.url, workers=0, **access)
        )
        service.dataset_id = service.dataset()
        if part in ("all", "rates"):
            table(service, spaces)
        if part in ("all", "cut"):
            cut_off(service, hub, spaces)
        assert service.unexpected == []


def main():
    part, *inner = sys.argv[1:] or ["all"]  # all, rates or cut
    if inner:
        inside(part, inner[0], inner[1:])
        return 0
    if why := namespaces.missing():
        print(f"skipped: {why}")
        return 0
    with namespaces.Network(4) as network:
        command = [sys.executable, __file__, part, network.hub, *network.hosts]
        return subprocess.run(namespaces.within(network.hub, *command), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
