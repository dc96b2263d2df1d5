"""Micro-batches: what queued during a pass is the next one; nobody is left out, nobody is computed in vain."""

import asyncio
import threading

import numpy as np
import pytest

from app import batching


class Model:
    """Doubles its rows; counts them, may wait at a gate, and may refuse a number."""

    def __init__(self, *, gate=None, poison=None):
        self.batches, self.gate, self.poison = [], gate, poison

    def probabilities(self, rows):
        self.batches.append(rows[:, 0].tolist())
        if self.gate is not None:
            assert self.gate.wait(30)
        if self.poison is not None and (rows == self.poison).any():
            raise ValueError("poison")
        return rows * 2


def rows(*numbers):
    return np.array(numbers, dtype=np.float32)[:, None]


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)


def test_what_queued_during_a_pass_is_the_next_batch():
    async def ask():
        gate = threading.Event()
        model, batcher = Model(gate=gate), batching.Batcher()
        line = batching.Line(model)
        first = asyncio.create_task(batcher.ask(line, rows(1)))
        await settle()
        others = [asyncio.create_task(batcher.ask(line, rows(n, n + 10))) for n in (2, 3, 4)]
        await settle()
        assert model.batches == [[1]]
        gate.set()
        assert (await first).tolist() == [[2]]
        assert [found.tolist() for found in await asyncio.gather(*others)] == [
            [[2 * n], [2 * n + 20]] for n in (2, 3, 4)
        ]
        assert model.batches == [[1], [2, 12, 3, 13, 4, 14]]

    asyncio.run(ask())


def test_a_lone_question_does_not_wait_for_others():
    async def ask():
        model, batcher = Model(), batching.Batcher()
        line = batching.Line(model)
        for n in range(3):
            found = await asyncio.wait_for(batcher.ask(line, rows(n)), 5)
            assert found.tolist() == [[2 * n]]
        assert model.batches == [[0], [1], [2]]

    asyncio.run(ask())


def test_a_batch_is_bounded_and_a_long_question_lets_a_short_one_pass(monkeypatch):
    monkeypatch.setattr(batching, "BATCH_ROWS", 4)

    async def ask():
        model, batcher = Model(), batching.Batcher()
        line = batching.Line(model)
        long = asyncio.create_task(batcher.ask(line, rows(*range(100, 120))))
        short = asyncio.create_task(batcher.ask(line, rows(1)))
        await short
        assert not long.done()
        assert (await long).tolist() == [[2 * n] for n in range(100, 120)]
        assert max(map(len, model.batches)) == 4
        assert 1 in model.batches[1]

    asyncio.run(ask())


def test_large_rows_make_small_batches():
    async def ask():
        model, batcher = Model(), batching.Batcher()
        big = np.zeros((5, batching.BATCH_NUMBERS // 2), dtype=np.float32)
        await batcher.ask(batching.Line(model), big)
        assert [len(batch) for batch in model.batches] == [2, 2, 1]

    asyncio.run(ask())


def test_a_full_queue_is_429_with_a_time_to_come_back_and_loses_nobody(monkeypatch):
    monkeypatch.setattr(batching, "WAITING_ROWS", 3)

    async def ask():
        gate = threading.Event()
        model, batcher = Model(gate=gate), batching.Batcher()
        line = batching.Line(model)
        first = asyncio.create_task(batcher.ask(line, rows(1)))
        await settle()
        waiting = asyncio.create_task(batcher.ask(line, rows(2, 3)))
        await settle()
        with pytest.raises(batching.Overloaded) as caught:
            await batcher.ask(line, rows(4, 5))
        assert (caught.value.status, caught.value.code, caught.value.retry_after) == (429, "overloaded", 1)
        gate.set()
        assert (await first).tolist() == [[2]]
        assert (await waiting).tolist() == [[4], [6]]
        assert (await batcher.ask(line, rows(*range(9)))).shape == (9, 1)  # alone, more than the queue holds

    asyncio.run(ask())


def test_a_row_that_breaks_the_pass_fails_alone():
    async def ask():
        gate = threading.Event()
        model, batcher = Model(gate=gate, poison=13), batching.Batcher()
        line = batching.Line(model)
        first = asyncio.create_task(batcher.ask(line, rows(1)))
        await settle()
        tasks = [asyncio.create_task(batcher.ask(line, rows(n))) for n in (12, 13, 14)]
        await settle()
        gate.set()
        await first
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [found[0].tolist(), found[2].tolist()] == [[[24]], [[28]]]
        assert isinstance(found[1], ValueError)

    asyncio.run(ask())


def test_a_client_that_left_is_not_computed():
    async def ask():
        gate = threading.Event()
        model, batcher = Model(gate=gate), batching.Batcher()
        line = batching.Line(model)
        first = asyncio.create_task(batcher.ask(line, rows(1)))
        await settle()
        gone = asyncio.create_task(batcher.ask(line, rows(2), lambda: True))
        cancelled = asyncio.create_task(batcher.ask(line, rows(3)))
        stays = asyncio.create_task(batcher.ask(line, rows(4)))
        await settle()
        cancelled.cancel()
        await settle()
        gate.set()
        await first
        await stays
        with pytest.raises(batching.Left):
            await gone
        assert model.batches == [[1], [4]]
        assert line.rows == 0

    asyncio.run(ask())


def test_models_take_turns_at_the_slots():
    async def ask():
        gate = threading.Event()
        order: list[int] = []
        batcher = batching.Batcher(slots=1, observe=order.append)
        busy, rare = batching.Line(Model(gate=gate)), batching.Line(Model(gate=gate))
        first = asyncio.create_task(batcher.ask(busy, rows(1)))
        await settle()
        flood = [asyncio.create_task(batcher.ask(busy, rows(*range(64)))) for _ in range(20)]
        await settle()
        other = asyncio.create_task(batcher.ask(rare, rows(7, 8)))
        await settle()
        gate.set()
        await asyncio.gather(first, other, *flood)
        assert order.index(2) <= 2  # behind one batch of the flood at most

    asyncio.run(ask())


def test_bags_of_several_questions_become_one_batch():
    from c2s import data, runtime

    one = data.Bags(np.array([0, 2, 2]), np.array([1, 4]), np.array([0.5, 1], dtype=np.float32), 9)
    two = data.Bags(np.array([0, 1]), np.array([3]), np.array([2], dtype=np.float32), 9)
    both = runtime.joined([one, two])
    assert both.indptr.tolist() == [0, 2, 2, 3]
    assert both.indices.tolist() == [1, 4, 3]
    assert both.weights.tolist() == [0.5, 1, 2]
