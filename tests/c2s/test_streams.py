from c2s import streams


def test_streams_differ_by_name_and_repeat_by_seed():
    names = [(1, "split"), (1, "flips"), (2, "split"), (1, "split", 0), (1, "split", 1)]
    assert len({streams.derive(*name) for name in names}) == len(names)
    assert streams.numpy(1, "x").random() == streams.numpy(1, "x").random()


def test_a_stream_is_the_same_on_every_machine():
    assert streams.derive(1, "stage1", "batches", 0) == 7586506663992602203
