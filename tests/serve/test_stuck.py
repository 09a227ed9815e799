"""A search that does not end: those who wait are answered, the model is loaded again, and health says what is true."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from seqloom.serve.batcher import MOST_STUCK, Batcher
from seqloom.serve.finding import Found, Wanted
from seqloom.serve.limits import Limits
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Service
from seqloom.serve.worker import OneThread

QUICK = replace(Limits(), stuck=0.3, linger=0.01)


def answering(texts, wanted):
    from seqloom.runtime.parts import Translation

    return [Found([Translation(text.upper(), 0.0, 0.0)]) for text in texts]


def endless(texts, wanted):
    while True:  # Python code: it is ended when it is left behind
        pass


def in_a_library(opened):
    """A search that no signal of Python reaches, until `opened`."""

    def find(texts, wanted):
        opened.wait(120)
        return answering(texts, wanted)

    return find


def test_those_who_wait_get_503_and_the_next_request_the_new_model():
    loads = []

    def reload():
        loads.append(threading.current_thread().name)
        return answering

    async def scenario():
        batcher = Batcher(endless, QUICK, reload=reload)
        batcher.start()
        asks = [asyncio.ensure_future(batcher.ask([text], Wanted.of(n_best=n))) for n, text in ((1, "a"), (2, "b"))]
        done = await asyncio.gather(*asks, return_exceptions=True)
        first = batcher.worker
        while not batcher.ready:
            await asyncio.sleep(0.01)
        [answer] = await batcher.ask(["later"], Wanted())
        while any(worker.busy for worker in batcher.left):
            await asyncio.sleep(0.01)
        await batcher.stop()
        return done, first, answer

    done, _, answer = asyncio.run(scenario())
    assert [(error.status, error.headers) for error in done] == [(503, {"Retry-After": "1"})] * 2
    assert answer.hypotheses[0].text == "LATER" and loads == ["seqloom-model"]


@pytest.mark.parametrize("fault", [RuntimeError("gone"), SystemExit()])
def test_a_model_that_cannot_be_loaded_again_is_used_as_it_is(fault):
    opened, finds = threading.Event(), []

    def find(texts, wanted):
        finds.append(texts)
        return in_a_library(opened)(texts, wanted) if len(finds) == 1 else answering(texts, wanted)

    def reload():
        raise fault

    async def scenario():
        batcher = Batcher(find, QUICK, reload=reload)
        batcher.start()
        with pytest.raises(Refusal, match="loaded again"):
            await batcher.ask(["a"], Wanted())
        while not batcher.ready:
            await asyncio.sleep(0.01)
        answers = await batcher.ask(["b"], Wanted())
        assert batcher.busy, "the first search is still in its library"
        opened.set()
        await batcher.stop()
        return answers

    [answer] = asyncio.run(scenario())
    assert answer.hypotheses[0].text == "B"


def test_when_too_many_searches_hang_it_says_so_and_recovers_if_they_end():
    opened = threading.Event()

    async def scenario():
        batcher = Batcher(in_a_library(opened), QUICK, reload=lambda: in_a_library(opened))
        batcher.start()
        refused = 0
        while not batcher.stuck:
            try:
                await batcher.ask(["a"], Wanted())
            except Refusal:
                refused += 1
                await asyncio.sleep(0.01)
        assert refused > MOST_STUCK and not batcher.ready
        with pytest.raises(Refusal, match="loaded again"):
            await batcher.ask(["b"], Wanted())
        opened.set()
        while not batcher.ready:
            await asyncio.sleep(0.05)
        answers = await batcher.ask(["c"], Wanted())
        await batcher.stop()
        return answers

    [answer] = asyncio.run(scenario())
    assert answer.hypotheses[0].text == "C"


def test_a_fault_in_the_queue_itself_costs_answers_but_not_the_server():
    async def scenario():
        batcher = Batcher(answering, QUICK)
        take, faults = batcher.queue.take, [ValueError("broken")]
        batcher.queue.take = lambda: take() if not faults else (_ for _ in ()).throw(faults.pop())
        batcher.start()
        with pytest.raises(Refusal) as refused:
            await batcher.ask(["a"], Wanted())
        answers = await batcher.ask(["b"], Wanted())
        await batcher.stop()
        return refused.value.status, answers

    status, [answer] = asyncio.run(scenario())
    assert status == 500 and answer.hypotheses[0].text == "B"


def test_health_tells_the_truth(pairs, serve, eventually):
    opened = threading.Event()
    service = Service(
        [replace(pairs[0], load=lambda: opened.wait(60) and pairs[0].translator)], replace(QUICK, stuck=1)
    )
    batcher = service.models["en", "de"].batcher
    batcher.find = endless
    with serve(service) as running:
        assert running.get("/health").json == {"status": "ok"} and running.get("/v1/readyz").status == 200
        answer = running.translate("a")
        assert answer.status == 503 and "loaded again" in answer.error and answer.headers["retry-after"]
        for path in ("/health", "/v1/readyz"):
            assert running.get(path).status == 503 and running.get(path).error
        assert running.translate("b").status == 503
        assert running.get("/v1/healthz").status == 200, "it is being mended"
        batcher.left = [type("Busy", (), {"busy": True})()] * (MOST_STUCK + 1)
        assert running.get("/v1/healthz").status == 503
        batcher.left = []
        opened.set()
        eventually(lambda: running.get("/health").status == 200)
        assert running.get("/v1/readyz").status == running.get("/v1/healthz").status == 200
        assert running.translate("the cat").status == 200


def test_a_thread_that_is_left_behind_ends():
    worker, begun = OneThread("left"), threading.Event()
    future = worker.submit(lambda: begun.set() or endless([], None))
    assert begun.wait(30) and worker.busy
    worker.abandon()
    worker.thread.join(30)
    assert not worker.thread.is_alive() and isinstance(future.exception(1), RuntimeError)


def test_explaining_that_does_not_end_is_left_behind(pairs, serve):
    service = Service(pairs[:1], replace(QUICK, deadline=0.5))
    model = service.models["en", "de"]
    begun = threading.Event()
    model.explainer.submit(lambda: begun.set() or endless([], None))
    assert begun.wait(30)
    time.sleep(0.4)
    first = model.explainer
    assert model.thread_to_explain() is not first and first.abandoned
