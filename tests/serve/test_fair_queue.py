"""Fair shares: short requests pass long ones, clients share a model equally, and who asks for too much gets 429."""

import asyncio
import json
import threading
import time

import pytest

from seqloom.serve.fair_queue import Ask, FairQueue
from seqloom.serve.finding import Wanted
from seqloom.serve.limits import Limits
from seqloom.serve.refusal import Refusal

HEAVY = Wanted.of(beam=32, alternatives=10)


class Waiting:
    """A future that only remembers the error."""

    error = None

    def done(self):
        return self.error is not None

    def set_exception(self, error):
        self.error = error


def asking(client, *texts, wanted=HEAVY):
    return Ask(texts, wanted, Waiting(), 0.0, client, missing=len(texts))


def order(queue):
    """The texts of each batch until the queue is empty."""
    batches = []
    while rows := queue.take():
        batches.append([ask.texts[number] for ask, number in rows])
    return batches


def test_a_short_text_passes_forty_heavy_ones_of_the_same_client():
    queue = FairQueue(Limits(work=10**9))
    for number in range(40):
        queue.enter(asking("a", f"{number:03} " + "long " * 20))
    queue.take()  # the first one is being searched
    queue.enter(asking("a", "short", wanted=Wanted()))
    assert order(queue)[0] == ["short"]


def test_clients_have_equal_shares_however_many_requests_they_send():
    queue = FairQueue(Limits(rows=1, work=10**9))
    for number in range(20):
        queue.enter(asking("many", f"many {number:02}", wanted=Wanted()))
    for number in range(3):
        queue.enter(asking("few", f"few  {number:02}", wanted=Wanted()))
    first = [text.split()[0] for [text] in order(queue)[:6]]
    assert first.count("few") == 3


def test_a_heavy_text_has_its_turn_though_short_ones_keep_coming():
    queue = FairQueue(Limits(rows=1, work=10**9))
    queue.enter(asking("a", "x" * 1000, wanted=Wanted.of(n_best=2)))
    for number in range(200):
        queue.enter(asking("b", f"short {number}", wanted=Wanted()))
        [[ask, _]] = queue.take()
        queue.leave(ask)
        if ask.client == "a":
            return
    pytest.fail("it was never searched")


def test_more_work_than_a_share_is_429_with_the_seconds_it_takes():
    queue = FairQueue(Limits(work=1000))
    queue.enter(asking("a", "x" * 5000))  # one request is always let in
    with pytest.raises(Refusal) as refused:
        queue.enter(asking("a", "x", wanted=Wanted()))
    assert refused.value.status == 429 and refused.value.headers == {"Retry-After": "1"}
    queue.enter(asking("b", "x", wanted=Wanted()))
    queue.measured(queue.take(), 3.0)
    queue.enter(asking("c", "x" * 10, wanted=Wanted()))
    assert queue.seconds_for(queue.worked * 3) == 9 and queue.seconds_for(queue.worked * 1000) == 60


def test_in_a_full_queue_the_client_with_most_places_gives_one_up():
    queue = FairQueue(Limits(queue=4))
    asks = [asking("many", f"text {number}", wanted=Wanted()) for number in range(4)]
    for ask in asks:
        queue.enter(ask)
    with pytest.raises(Refusal) as refused:
        queue.enter(asking("many", "one more", wanted=Wanted()))
    assert refused.value.status == 503
    queue.enter(asking("few", "x", wanted=Wanted()))
    assert asks[3].done.error.status == 429 and not asks[0].done.error
    assert queue.held == {"many": 3, "few": 1} and len(queue.waiting) == len(queue.places) == 4
    queue.enter(asking("few", "y", wanted=Wanted()))
    with pytest.raises(Refusal):
        queue.enter(asking("few", "z", wanted=Wanted()))


def test_leaving_twice_and_refusing_all_leaves_nothing():
    queue = FairQueue(Limits())
    asks = [asking("a", "x", "y"), asking("b", "z")]
    for ask in asks:
        queue.enter(ask)
    queue.leave(asks[0])
    queue.leave(asks[0])
    queue.refuse_all(Refusal(503, "It stops."))
    assert not queue.places and not queue.waiting and not queue.held
    assert asks[1].done.error.status == 503 and asks[0].done.error is None


def test_a_plain_request_beside_forty_heavy_ones_is_answered_soon(pairs, serve, eventually):
    """Through HTTP, all from one address: some heavy ones get 429, the plain one does not wait for the others."""
    from seqloom.runtime.parts import Translation
    from seqloom.serve.finding import Found
    from seqloom.serve.service import Service

    service, searched = Service(pairs[:1], Limits(work=200_000)), []

    def find(texts, wanted):
        searched.append(texts[0])
        time.sleep(0.1)
        return [Found([Translation(text, 0.0, 0.0)], []) for text in texts]

    batcher = service.models["en", "de"].batcher
    batcher.find = find
    with serve(service) as running:
        statuses = []

        def heavy():
            answer = running.post("/v1/translate", q="heavy " * 20, source="en", target="de", beam=32, alternatives=10)
            assert answer.status == 200 or (answer.status == 429 and int(answer.headers["retry-after"]) > 0)
            statuses.append(answer.status)

        # The model in torch is not asked for, because the search is made up.
        service.models["en", "de"].translator.load_model = None
        threads = [threading.Thread(target=heavy) for _ in range(40)]
        [thread.start() for thread in threads]
        eventually(lambda: len(batcher.queue.places) >= 10)
        assert running.translate("plain").json == {"translatedText": "plain"}
        assert len(batcher.queue.places) >= 5, "most heavy ones still wait"
        [thread.join(120) for thread in threads]
        assert set(statuses) == {200, 429}


def test_one_client_may_not_take_all_places_of_explain(pairs, serve, eventually):
    from types import SimpleNamespace

    from seqloom.serve.service import MOST_EXPLAINING_EACH, Service

    service, opened = Service(pairs[:1]), threading.Event()
    model = service.models["en", "de"]
    real = model.translator
    model.translator = SimpleNamespace(
        config=real.config, load_model=None, folder=None, facts={}, tokenizers=real.tokenizers,
        explain=lambda *_, **__: opened.wait(60) and None,
    )  # fmt: skip
    with serve(service) as running:
        fields = json.dumps({"q": "the cat", "source": "en", "target": "de"})
        kind = {"Content-Type": "application/json"}
        threads = [
            threading.Thread(target=running.ask, args=("POST", "/v1/explain", fields, kind))
            for _ in range(MOST_EXPLAINING_EACH)
        ]
        [thread.start() for thread in threads]
        eventually(lambda: model.explaining.total() == MOST_EXPLAINING_EACH)
        answer = running.ask("POST", "/v1/explain", fields, kind)
        assert answer.status == 429 and "retry-after" in answer.headers
        opened.set()
        [thread.join(60) for thread in threads]
        eventually(lambda: not model.explaining)


def test_waits_are_told_apart_by_address():
    async def scenario():
        from seqloom.serve.batcher import Batcher
        from seqloom.serve.limits import CLIENT

        batcher = Batcher(lambda texts, wanted: [], Limits())
        CLIENT.set("10.0.0.7")
        asked = asyncio.ensure_future(batcher.ask(["x"], Wanted()))
        await asyncio.sleep(0)
        clients = [ask.client for ask in batcher.queue.places]
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        return clients

    assert asyncio.run(scenario()) == ["10.0.0.7"]
