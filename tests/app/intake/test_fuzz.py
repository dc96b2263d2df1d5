"""Damaged files of every format: they are read or refused, and nothing else ever leaves."""

import io
import json
import random
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from app.intake import child, options, refusal

SECONDS = 1.2  # a format
LIMITS = options.Limits()


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for n in range(8):
            picture = io.BytesIO()
            Image.fromarray(np.full((6, 6, 3), n, np.uint8)).save(picture, "PNG" if n % 2 else "JPEG")
            packed.writestr(f"{'ab'[n % 2]}/{n}.png", picture.getvalue())
    return file.getvalue()


def labelled():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("labels.csv", "file,label\n" + "".join(f"{n}.png,{n % 2}\n" for n in range(8)))
        for n in range(8):
            picture = io.BytesIO()
            Image.fromarray(np.full((6, 6), n, np.uint8)).save(picture, "PNG")
            packed.writestr(f"{n}.png", picture.getvalue())
    return file.getvalue()


def arrays():
    file = io.BytesIO()
    np.savez_compressed(file, x=np.random.default_rng(0).random((12, 3)), y=np.arange(12) % 2)
    return file.getvalue()


def table():
    file = io.BytesIO()
    columns = {"a": list(range(12)), "b": ["red", None, "blue"] * 4, "c": [0.5] * 12, "y": [0, 1] * 6}
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


CSV = ("a,b,y\n" + "".join(f'{n},"x ""{n % 3}""",{n % 2}\n' for n in range(12))).encode()
JSONL = "".join(json.dumps({"a": n, "b": f"é{n % 3}", "y": n % 2}) + "\n" for n in range(12)).encode()
SEEDS = {
    "csv": CSV,
    "jsonl": JSONL,
    "parquet": table(),
    "npz": arrays(),
    "zip": archive(),
    "labels": labelled(),
}


def damaged(content, chance):
    found = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(found) or 1)
        match chance.randrange(5):
            case 0:
                found[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                found[place : place + 1] = (
                    bytes([found[place] ^ (1 << chance.randrange(8))]) if found else b""
                )
            case 2:
                del found[place : place + chance.randint(1, 40)]
            case 3:
                found[place:place] = found[place : place + chance.randint(1, 40)]
            case 4:
                found[place : place + 4] = chance.choice(
                    [b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff", b'"{,\n']
                )
    return bytes(found)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damage_is_refused_or_survived(name, tmp_path):
    chance = random.Random(20_261_116)  # noqa: S311
    end = time.monotonic() + SECONDS
    source, target, count = tmp_path / "source", tmp_path / "out", 0
    while time.monotonic() < end or count < 20:
        source.write_bytes(damaged(SEEDS[name], chance))
        count += 1
        try:
            child.ingest(source, target, options.Options(), LIMITS)
        except refusal.Refused as exc:
            reasons = exc.reasons
        else:
            for file in target.iterdir():
                file.unlink()
            target.rmdir()
            continue
        assert {reason["code"] for reason in reasons} <= refusal.CODES
        assert [file.name for file in tmp_path.iterdir()] == ["source"]
