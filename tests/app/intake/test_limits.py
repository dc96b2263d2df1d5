"""Files that would use up the machine end with their process, and leave nothing."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.intake import options, reading, refusal, report

GIB = options.Limits(memory_bytes=2**30, seconds=60)
ROOMY = options.Limits(
    memory_bytes=5 * 2**28, seconds=60
)  # 100 MB of one cell take 960 to 1,000 MiB by chance
LIGHT = "import sys, {}; print(*sorted({{'torch', 'numpy', 'pyarrow', 'PIL', 'sklearn'}} & set(sys.modules)))"


def codes(reasons):
    return [reason["code"] for reason in reasons]


def test_a_normal_table_is_read_under_a_gibibyte(spawned):
    rows = "".join(f"{n * 0.37:.3f},{n % 89},{'rgb'[n % 3]},{n % 4}\n" for n in range(100_000))
    report = spawned("a,b,c,y\n" + rows, GIB)
    assert report.rows == 100_000


def test_a_dictionary_of_463_bytes_that_holds_two_gigabytes_is_refused(spawned, tmp_path):
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 2**20]))
    table = pa.table({"a": values, "y": pa.array([0, 1] * 1000, pa.int8())})
    pq.write_table(
        table, tmp_path / "source", compression="zstd", store_schema=False, dictionary_pagesize_limit=2**22
    )
    assert (tmp_path / "source").stat().st_size < 3000
    assert codes(spawned(None, GIB)) == ["too_much_memory"]


def test_a_run_of_many_million_equal_values_is_refused(spawned, tmp_path):
    many = pa.table({"a": np.zeros(30_000_000), "y": np.zeros(30_000_000, np.int8)})
    pq.write_table(many, tmp_path / "source")
    assert codes(spawned(None, GIB)) == ["too_many_rows"]
    assert codes(spawned(None, GIB.model_copy(update={"rows": 10**9, "memory_bytes": 400 * 2**20}))) == [
        "too_much_memory"
    ]


def test_a_cell_of_a_hundred_megabytes_is_refused(spawned, tmp_path):
    with (tmp_path / "source").open("wb") as file:
        file.write(b'a,y\n1,0\n2,1\n"')
        for _ in range(100):
            file.write(b"x" * 10**6)
        file.write(b'",0\n')
    reasons = spawned(None, ROOMY)
    assert codes(reasons) == ["too_many_refused", "row_too_long"]
    assert reasons[1].get("line", 4) == 4  # where there is no memory left to count lines, the row is named
    assert reasons[1].get("row", 2) == 2
    (tmp_path / "source").write_bytes(b'{"a": 1, "y": 0}\n{"a": "' + b"x" * 10**8 + b'", "y": 1}\n')
    reasons = spawned(None, ROOMY)
    assert (codes(reasons), reasons[0]["line"]) == (["row_too_long"], 2)


def test_a_header_of_three_hundred_thousand_columns_is_refused(spawned):
    assert codes(spawned(",".join(map(str, range(300_000))) + ",y\n", GIB)) == ["too_many_columns"]


def test_an_array_header_that_claims_terabytes_is_refused(spawned, tmp_path):
    with zipfile.ZipFile(tmp_path / "source", "w") as archive:
        for name in ("x.npy", "y.npy"):
            with archive.open(name, "w") as file:
                np.lib.format.write_array_header_1_0(
                    file, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
                )
    assert codes(spawned(None, GIB)) == ["bad_archive"]


def test_a_file_that_takes_too_long_is_refused(spawned):
    assert codes(spawned("a,y\n1,0\n2,1\n", options.Limits(seconds=0.05))) == ["too_slow"]


def test_a_file_that_takes_too_much_processor_is_refused(spawned):
    rows = "".join(f"{n},{n % 2}\n" for n in range(1_500_000))
    limits = options.Limits(seconds=1)
    assert codes(spawned("a,y\n" + rows, limits)) == ["too_slow"]


def test_a_reader_without_memory_to_start_is_refused(spawned):
    assert codes(spawned("a,y\n1,0\n2,1\n", options.Limits(memory_bytes=2**27))) == ["too_much_memory"]


def test_a_dataset_larger_than_allowed_is_refused(spawned):
    rows = "".join(f"{n},{n % 2}\n" for n in range(50_000))
    assert codes(spawned("a,y\n" + rows, options.Limits(bytes=100_000))) == ["too_large"]


def test_the_child_sees_none_of_our_environment(spawned, monkeypatch, tmp_path):
    monkeypatch.setenv("C2S_SECRET", "hidden")
    seen = {}
    start = subprocess.Popen

    def watch(*args, **kwargs):
        seen.update(kwargs["env"])
        return start(*args, **kwargs)

    monkeypatch.setattr(subprocess, "Popen", watch)
    spawned("a,y\n1,0\n2,1\n3,0\n4,1\n")
    assert "C2S_SECRET" not in seen
    assert seen["OMP_NUM_THREADS"] == "1"


def test_a_child_that_says_nonsense_is_an_unreadable_file(tmp_path):
    for said in (b"", b"[]", b"{", b'{"ok": {}}', b'{"ok": null}'):
        (tmp_path / reading.ANSWER).write_bytes(said)
        (tmp_path / reading.TRACE).write_bytes(b"")
        with pytest.raises(refusal.Refused) as caught:
            reading._answer(tmp_path, 0, GIB, report.Report)
        assert codes(caught.value.reasons) == ["unreadable"]


def test_a_dataset_folder_with_a_link_is_never_published(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "x.npy").symlink_to("/etc/passwd")
    with pytest.raises(refusal.Refused):
        reading._publish(tmp_path / "made", tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_source_that_is_not_there_is_our_own_fault(spawned, tmp_path):
    with pytest.raises(FileNotFoundError):
        spawned()
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_is_not_the_file_s_fault(tmp_path):
    (tmp_path / reading.ANSWER).write_text(json.dumps({"error": reading.NO_SPACE}))
    with pytest.raises(OSError, match="No space left"):
        reading._answer(tmp_path, 0, GIB, report.Report)


def test_the_parent_s_side_loads_nothing_heavy():
    names = "app.intake.reading, app.intake.options, app.intake.report, app.intake.refusal"
    done = subprocess.run(
        [sys.executable, "-c", LIGHT.format(names)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_child_s_side_loads_no_torch():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT.format("app.intake.reader")], capture_output=True, text=True, check=True
    )
    assert "torch" not in done.stdout
