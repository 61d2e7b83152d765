"""Threads that share out work: all of it is done once, in order, and nobody is left waiting."""

import gc
import threading
import time

import pytest

from bgn.engines.memory import ThreadPool


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("items", [0, 1, 2, 40])
def test_every_item_is_done_once_and_answers_keep_their_order(threads, items):
    done = []

    def work(item):
        done.append(item)
        time.sleep(0.001 * (item % 3))
        return item * item

    pool = ThreadPool(threads)
    for _ in range(3):
        done.clear()
        assert pool.map(work, range(items)) == [k * k for k in range(items)]
        assert sorted(done) == list(range(items))


def test_threads_work_side_by_side():
    both = threading.Barrier(2)
    assert ThreadPool(2).map(lambda item: both.wait(timeout=30) >= 0, [1, 2]) == [True, True]


@pytest.mark.parametrize("bad", [0, 3])
def test_what_goes_wrong_is_raised_and_the_crew_goes_on(bad):
    def work(item):
        if item == bad:
            raise ValueError(f"item {item}")
        time.sleep(0.001)
        return item

    pool = ThreadPool(3)
    with pytest.raises(ValueError, match=f"item {bad}"):
        pool.map(work, range(4))
    assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]


def test_several_threads_may_ask_one_pool():
    pool, answers = ThreadPool(3), {}

    def ask(name):
        answers[name] = [pool.map(lambda item: item + name, range(7)) for _ in range(20)]

    asking = [threading.Thread(target=ask, args=(name,)) for name in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert answers == {name: [[k + name for k in range(7)]] * 20 for name in range(4)}


def test_threads_end_with_the_pool():
    before = set(threading.enumerate())
    pool = ThreadPool(4)
    pool.map(abs, range(9))
    own = set(threading.enumerate()) - before
    assert len(own) == 3
    del pool
    gc.collect()
    for thread in own:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in own)
