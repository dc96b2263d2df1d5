"""Labels reviewed through the client and the command: decided, listed, made into a dataset and trained on again."""

import asyncio
import csv
import json
import logging

import pytest
import structlog

import c2s
from c2s.client import problems, reviews
from c2s.commands import entry

TOKEN = "t" * 32


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """The service is in the same process: its log would stand between what the command prints."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def job(client, published):
    return client.jobs.get(published("vectors", fresh=True)[1])


def test_rows_are_decided_on_listed_and_taken_back(job, monkeypatch):
    monkeypatch.setattr(reviews, "MOST", 2)  # several calls
    first, second, third, *_ = (row["id"] for row in job.issues())
    assert job.review(accept=[first], keep=[second], relabel={third: "2"}) == 3
    told = {row["id"]: (row["decision"], row["label"]) for row in job.decisions()}
    rows = {row["id"]: row for row in job.issues()}
    assert told == {
        first: ("accept", rows[first]["suggested"]),
        second: ("keep", rows[second]["given"]),
        third: ("relabel", "2"),
    }
    assert [row["id"] for row in job.issues(decided=True)] == [first, second, third]
    assert first not in [row["id"] for row in job.issues(decided=False)]
    assert job.review(undecided=[first]) == 2
    pair = {"given": rows[second]["given"], "suggested": rows[second]["suggested"]}
    assert {(row["given"], row["suggested"]) for row in job.issues(**pair)} == {tuple(pair.values())}
    for wrong in ({"accept": ["none"]}, {"relabel": {first: "none"}}, {}):
        with pytest.raises(problems.Invalid):
            job.review(**wrong)


def test_a_corrected_dataset_is_made_and_trained_on_with_the_same_settings(client, job):
    job.review(relabel={"0": "2"})
    made = job.corrected_dataset(name="better")
    assert (made.name, made.state, made.parent_id, made.job_id) == ("better", "ready", job.dataset_id, job.id)
    again = job.again(made)
    assert (again.dataset_id, again.config, again.name) == (made.id, job.config, job.name)
    again.cancel()
    sure = job.corrected_dataset(correct_at=0.5, gold=True, wait=False)
    assert sure.report()["corrections"]["gold"]


def test_the_other_manner_reviews_as_well(shared, job):
    async def review():
        async with c2s.AsyncClient(shared.address, TOKEN) as client:
            mine = await client.jobs.get(job.id)
            await mine.review(keep=["5"])
            return await mine.corrected_dataset()

    assert asyncio.run(review()).parent_id == job.dataset_id


@pytest.fixture
def command(shared, monkeypatch, capsys):
    monkeypatch.setenv("C2S_URL", shared.address)
    monkeypatch.setenv("C2S_TOKEN", TOKEN)

    def run(*words):
        code = entry.main(["issues", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_command_decides_lists_exports_and_makes_a_dataset(command, job, tmp_path):
    first, second = (row["id"] for row in job.issues(2))
    code, out, _ = command("decide", job.id, "--accept", first, "--relabel", f"{second}=2")
    assert (code, out) == (0, "2 rows are decided\n")
    left = json.loads(command("ls", job.id, "--undecided", "--limit", 1, "-o", "json")[1])
    assert left[0]["id"] not in (first, second)
    assert "relabel" in command("ls", job.id)[1]
    assert command("export", job.id, "--out", tmp_path / "rows.csv")[0] == 0
    with (tmp_path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["decision"], row["label"]) for row in rows[:3]] == [
        ("accept", rows[0]["suggested"]), ("relabel", "2"), ("", ""),
    ]  # fmt: skip
    made = json.loads(command("dataset", job.id, "--name", "better", "-o", "json")[1])
    assert (made["name"], made["job_id"]) == ("better", job.id)
    assert json.loads(command("decide", job.id, "--undecided", first, "-o", "json")[1]) == {"decided": 1}


@pytest.mark.parametrize("words", [["--relabel", "7"], []])
def test_a_decision_that_says_nothing_is_refused_before_it_is_sent(command, job, words):
    code, _, err = command("decide", job.id, *words)
    assert code != 0
    assert "say" in err


def test_rows_to_look_at_go_out_as_a_file_and_come_back_as_an_accuracy(
    shared, job, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("C2S_URL", shared.address)
    monkeypatch.setenv("C2S_TOKEN", TOKEN)
    assert entry.main(["gold", "ls", job.id, "--rows", "8", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    path = tmp_path / "look.csv"
    assert entry.main(["gold", "ls", job.id, "--rows", "8", "--out", str(path)]) == 0
    assert "8 rows in" in capsys.readouterr().err
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [row["id"] for row in told]
    assert {row["label"] for row in rows} == {""}
    assert entry.main(["gold", "count", job.id, str(path)]) == 2  # nobody has looked yet
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": row["predicted"]} for row in rows)
    capsys.readouterr()
    assert entry.main(["gold", "count", job.id, str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("accuracy 100.0%, 95 % interval ")
    assert "more than there are to look at" in " ".join(out.split())
    path.write_text("id,truth\n1,2\n")
    assert entry.main(["gold", "count", job.id, str(path)]) == 2
    assert "the columns id and label are needed" in capsys.readouterr().err
