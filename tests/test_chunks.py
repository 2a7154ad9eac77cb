"""Jobs in threads: results in order, as many threads as asked for, errors where their result would be."""

import threading
import time

import pytest

from kenyon.chunks import in_order


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
def test_results_come_in_order(threads, n):
    def job(k):
        time.sleep(0.002 * (k % 3 == 0))
        return k * k

    assert list(in_order(job, range(n), threads)) == [k * k for k in range(n)]


@pytest.mark.parametrize("threads", [2, 3])
def test_as_many_threads_are_at_work_as_were_asked_for(threads):
    seen, together = set(), threading.Barrier(threads, timeout=10)

    def job(k):
        if k < threads:
            together.wait()  # passed only if as many are at work at once
        seen.add(threading.get_ident())

    list(in_order(job, range(20), threads))
    assert len(seen) == threads


def test_an_error_is_raised_in_its_turn():
    def job(k):
        if k == 3:
            raise KeyError("three")
        return k

    found = in_order(job, range(9), 2)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="three"):
        next(found)


def test_few_jobs_are_begun_ahead_of_a_slow_reader_and_none_once_it_leaves():
    begun = []
    found = in_order(begun.append, range(1000), 2)
    next(found)
    time.sleep(0.05)
    found.close()
    assert len(begun) <= 5
