import errno

import pyarrow
import pytest
import safetensors
import torch

from app.core import errors as service
from c2s import errors
from worker import failures

FULL = "Error while serializing: I/O error: No space left on device (os error 28)"
CASES = [
    (errors.InvalidDataset("too few rows"), "invalid_dataset"),
    (errors.InvalidConfig("device 'x'"), "invalid_dataset"),
    (errors.InvalidTransition("row 1"), "invalid_dataset"),
    (errors.Diverged("stage1", 3), "diverged"),
    (errors.NotLearnable("hidden"), "not_learnable"),
    (MemoryError(), "out_of_memory"),
    (torch.OutOfMemoryError("CUDA out of memory"), "out_of_memory"),
    (
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        "out_of_memory",
    ),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), "out_of_memory"),
    (pyarrow.ArrowException("Failed to launch worker thread: Resource unavailable"), "out_of_memory"),
    (RuntimeError("can't start new thread"), "out_of_memory"),
    (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "out_of_memory"),
    (OSError(errno.ENOSPC, "No space left on device"), "storage_full"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), "storage_full"),
    (safetensors.SafetensorError(FULL), "storage_full"),
    (service.StoreFull(), "storage_full"),
    (safetensors.SafetensorError("HeaderTooLarge"), "internal"),
    (errors.InvalidModel("altered"), "invalid_model"),
    (ImportError("No module named torch"), "internal"),
    (KeyError("config"), "internal"),
    (SystemExit(3), "internal"),
    (SystemError("error return without exception set"), "internal"),  # while there is room
]


@pytest.mark.parametrize(("exc", "code"), CASES, ids=lambda case: type(case).__name__)
def test_every_exception_has_one_of_the_closed_codes(exc, code):
    assert failures.explain(exc)[0] == code


def test_a_user_reads_the_library_s_own_sentence_and_for_the_rest_its_kind():
    assert failures.explain(errors.InvalidDataset("too few rows"))[1] == "too few rows"
    assert failures.explain(KeyError("config"))[1] == "KeyError: 'config'"
    assert len(failures.explain(ValueError("x" * 10_000))[1]) == failures.LONGEST


def test_a_real_allocation_that_cannot_be_met_is_want_of_memory():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60)
    assert failures.classify(caught.value) == "out_of_memory"
