"""Dynamic batching, queue, deadline and clients that go away, at a gate that the test opens."""

import asyncio
import http.client
import json
import threading
import time
from dataclasses import replace

import pytest

from seqloom.serve.batcher import Ask, Batcher, Limits
from seqloom.serve.finding import Found, Wanted
from seqloom.serve.refusal import Refusal


def found(text):
    return Found([text])


class Recorder:
    """A search that answers at once and remembers its batches."""

    def __init__(self, seconds=0.0):
        self.batches = []
        self.seconds = seconds

    def __call__(self, texts, wanted):
        self.batches.append(([*texts], wanted))
        time.sleep(self.seconds)
        return [found(text.upper()) for text in texts]


def run(find, limits, scenario):
    async def whole():
        batcher = Batcher(find, limits)
        batcher.start()
        try:
            return await scenario(batcher)
        finally:
            await batcher.stop()

    return asyncio.run(whole())


def texts_of(answers):
    return [[one.hypotheses[0] for one in answer] for answer in answers]


def test_requests_of_the_same_moment_are_searched_together_shortest_first():
    find = Recorder()

    async def scenario(batcher):
        return await asyncio.gather(*(batcher.ask([text, "zz"], Wanted()) for text in ("ccc", "a", "bbbb")))

    answers = run(find, replace(Limits(), linger=0.2), scenario)
    assert texts_of(answers) == [["CCC", "ZZ"], ["A", "ZZ"], ["BBBB", "ZZ"]]
    assert [texts for texts, _ in find.batches] == [["a", "zz", "zz", "zz", "ccc", "bbbb"]]


def test_a_batch_waits_no_longer_than_it_must():
    find = Recorder()

    async def scenario(batcher):
        started = time.monotonic()
        await batcher.ask(["a"], Wanted())
        alone = time.monotonic() - started
        started = time.monotonic()
        await batcher.ask(["a"] * 4, Wanted())
        return alone, time.monotonic() - started

    alone, full = run(find, replace(Limits(), linger=0.5, rows=4), scenario)
    assert alone > 0.45, "it waits for company"
    assert full < 0.4, "a full batch waits for nobody"


def test_different_wishes_are_different_batches():
    find = Recorder()

    async def scenario(batcher):
        await asyncio.gather(
            batcher.ask(["a"], Wanted()), batcher.ask(["b"], Wanted.of(n_best=2)), batcher.ask(["c"], Wanted())
        )

    run(find, replace(Limits(), linger=0.1), scenario)
    assert find.batches == [(["a", "c"], Wanted()), (["b"], Wanted.of(n_best=2))]


def test_a_batch_keeps_to_its_rows_and_its_area():
    find = Recorder()

    async def scenario(batcher):
        await batcher.ask(["a" * length for length in (10, 10, 30, 10, 90, 5)], Wanted())

    run(find, replace(Limits(), rows=4, area=100, linger=0), scenario)
    sizes = [[len(text) for text in texts] for texts, _ in find.batches]
    assert sizes == [[10, 10, 30], [10], [90], [5]]
    assert all(len(row) <= 4 and (len(row) == 1 or len(row) * max(row) <= 100) for row in sizes)


def test_who_wants_more_for_a_text_has_fewer_texts_a_batch():
    """The work of a batch is bounded, whatever is asked for each of its texts."""
    find = Recorder()
    wishes = [
        Wanted(),
        Wanted.of(beam=1),
        Wanted.of(beam=10),
        Wanted.of(n_best=10),
        Wanted.of(alternatives=2),
        Wanted.of(beam=32, alternatives=10),
    ]

    async def scenario(batcher):
        for wanted in wishes:
            await batcher.ask(["a" * 10] * 16, wanted)

    assert [wanted.times for wanted in wishes] == [1, 1, 2, 2, 4, 84]
    run(find, replace(Limits(), rows=16, linger=0), scenario)
    assert [max(len(texts) for texts, wanted in find.batches if wanted == wish) for wish in wishes] == [
        16,
        16,
        8,
        8,
        4,
        1,
    ]
    find.batches.clear()
    run(find, replace(Limits(), area=160, linger=0), scenario)
    assert [max(len(texts) for texts, wanted in find.batches if wanted == wish) for wish in wishes] == [
        16,
        16,
        8,
        8,
        4,
        1,
    ]


def test_a_long_request_holds_up_nobody():
    find = Recorder(0.02)
    order = []

    async def scenario(batcher):
        async def ask(name, texts):
            await batcher.ask(texts, Wanted())
            order.append(name)

        await asyncio.gather(ask("long", ["a"] * 40), ask("short", ["b"]))

    run(find, replace(Limits(), rows=4), scenario)
    assert order == ["short", "long"]
    assert find.batches[0][0].count("b") == 1


def test_of_two_wishes_each_has_its_turn():
    find = Recorder()

    async def scenario(batcher):
        await asyncio.gather(batcher.ask(["a"] * 6, Wanted()), batcher.ask(["b"] * 4, Wanted.of(n_best=2)))

    run(find, replace(Limits(), rows=2, linger=0.05), scenario)
    assert [texts[0] for texts, _ in find.batches] == ["a", "b", "a", "b", "a"]


def test_who_is_cancelled_is_never_searched():
    find = Recorder(0.1)

    async def scenario(batcher):
        first = asyncio.ensure_future(batcher.ask(["first"], Wanted()))
        await asyncio.sleep(0.05)
        gone = asyncio.ensure_future(batcher.ask(["gone"] * 5, Wanted()))
        await asyncio.sleep(0)
        assert len(batcher.queue.places) == 2
        gone.cancel()
        await asyncio.gather(first, gone, return_exceptions=True)
        assert not batcher.queue.places and not batcher.queue.waiting
        await batcher.ask(["last"], Wanted())

    run(find, Limits(), scenario)
    assert [texts for texts, _ in find.batches] == [["first"], ["last"]]


@pytest.mark.parametrize("turns", range(4))
def test_a_stop_ends_the_loop_though_a_request_comes_at_the_same_moment(turns):
    async def scenario(batcher):
        asked = asyncio.ensure_future(batcher.ask(["a"], Wanted()))
        await asyncio.sleep(0.05)
        batcher.wake.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        batcher.task.cancel()
        await asyncio.wait([batcher.task], timeout=2)
        assert batcher.task.done()
        asked.cancel()

    run(Recorder(), replace(Limits(), linger=60), scenario)


def test_a_full_queue_refuses_and_says_when_to_come_again():
    async def scenario(batcher):
        asks = [asyncio.ensure_future(batcher.ask(["a"], Wanted())) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await batcher.ask(["b"], Wanted())
        await asyncio.gather(*asks)
        await batcher.ask(["c"], Wanted())
        return refused.value

    refusal = run(Recorder(), replace(Limits(), queue=3), scenario)
    assert refusal.status == 503 and refusal.headers == {"Retry-After": "1"}


def test_a_failed_search_is_tried_text_by_text():
    def find(texts, how):
        if "bad" in texts:
            raise ValueError("bad")
        return [found(text) for text in texts]

    async def scenario(batcher):
        return await asyncio.gather(
            *(batcher.ask([text], Wanted()) for text in ("a", "bad", "c")), return_exceptions=True
        )

    good, bad, other = run(find, replace(Limits(), linger=0.1), scenario)
    assert texts_of([good, other]) == [["a"], ["c"]] and isinstance(bad, ValueError)


class Panic(BaseException):
    """As the Rust libraries raise it: not an Exception."""


@pytest.mark.parametrize("raised", [Panic, KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_whatever_a_search_raises_every_row_is_answered_and_the_batcher_lives(raised):
    def find(texts, how):
        if "bad" in texts:
            raise raised
        return [found(text) for text in texts]

    async def scenario(batcher):
        first = await asyncio.gather(
            *(batcher.ask([text], Wanted()) for text in ("a", "bad", "c")), return_exceptions=True
        )
        return [*first, await batcher.ask(["later"], Wanted())], batcher.task.done()

    (good, bad, other, later), dead = run(find, replace(Limits(), linger=0.1), scenario)
    assert texts_of([good, other, later]) == [["a"], ["c"], ["later"]] and isinstance(bad, Exception) and not dead


def test_a_search_with_too_few_answers_and_a_broken_measurement_still_answer():
    def measure(texts, seconds):
        raise ValueError("broken")

    async def scenario(batcher):
        few = await asyncio.gather(batcher.ask(["a"], Wanted()), return_exceptions=True)
        batcher.find, batcher.measure = Recorder(), measure
        broken = await asyncio.gather(batcher.ask(["b"], Wanted()), return_exceptions=True)
        batcher.measure = lambda texts, seconds: None
        return few, broken, await batcher.ask(["c"], Wanted())

    [few], [broken], last = run(lambda texts, how: [], Limits(), scenario)
    assert isinstance(few, IndexError) and isinstance(broken, Refusal) and broken.status == 500
    assert texts_of([last]) == [["C"]]


def test_taking_from_an_empty_queue_takes_nothing():
    async def scenario(batcher):
        assert batcher.queue.take() == []
        ask = Ask(["a"], Wanted(), asyncio.get_running_loop().create_future(), 0.0, missing=1)
        batcher.deliver([(ask, 0)], [found("A")])
        assert ask.done.done()

    run(Recorder(), Limits(), scenario)


# ---- the same through HTTP


def send(running, q):
    """A request under way; its answer is read later, or never."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    body = json.dumps({"q": q, "source": "en", "target": "de"})
    connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
    return connection


def test_beyond_the_queue_is_503_with_retry_after(gated, serve, eventually):
    service, gate = gated(Limits(queue=2))
    batcher = service.models["en", "de"].batcher
    with serve(service) as running:
        waiting = [send(running, "one"), send(running, "two")]
        eventually(lambda: len(batcher.queue.places) == 2)
        answer = running.translate("three")
        assert answer.status == 503 and answer.headers["retry-after"] == "1" and "queue" in answer.error
        assert service.metrics.total_characters() == 0, "nothing has been translated yet"
        assert running.get("/health").status == 200, "only the model is busy"
        gate.opened.set()
        texts = [json.loads(connection.getresponse().read())["translatedText"] for connection in waiting]
        assert texts == ["ONE", "TWO"] and service.metrics.total_characters() == 6
        assert running.translate("four").status == 200
        [connection.close() for connection in waiting]


def test_only_so_many_bodies_are_read_at_once(gated, serve, eventually):
    service, gate = gated(Limits(requests=1))
    with serve(service) as running:
        waiting = send(running, "one")
        gate.wait_for_batch()
        assert running.translate("two").status == 503 and running.translate("two").headers["retry-after"] == "1"
        assert running.get("/health").status == 200
        gate.opened.set()
        assert waiting.getresponse().status == 200
        waiting.close()
        eventually(lambda: service.inside == 0)


def test_past_the_deadline_is_504(gated, serve, eventually):
    service, gate = gated(Limits(deadline=0.3))
    with serve(service) as running:
        answer = running.translate("slow")
        assert answer.status == 504 and "0.3 seconds" in answer.error
        assert not service.models["en", "de"].batcher.queue.places
        gate.opened.set()
        eventually(lambda: running.translate("fast").status == 200)


def test_a_body_that_does_not_come_is_not_waited_for(gated, serve):
    service, _ = gated(Limits(deadline=0.3))
    with serve(service) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        connection.putrequest("POST", "/translate")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b'{"q":')
        assert connection.getresponse().status == 504
        connection.close()


def test_a_client_that_goes_away_frees_its_place(gated, serve, eventually):
    service, gate = gated(Limits(queue=2))
    batcher = service.models["en", "de"].batcher
    with serve(service) as running:
        busy = send(running, "busy")
        gate.wait_for_batch()
        gone = send(running, "gone")
        eventually(lambda: len(batcher.queue.places) == 2)
        gone.close()
        eventually(lambda: len(batcher.queue.places) == 1)
        gate.opened.set()
        busy.getresponse().read()
        busy.close()
        assert running.translate("next").json == {"translatedText": "NEXT"}
    assert ["gone"] not in gate.batches
    assert 'status="499"' in service.metrics.page().decode()


def test_many_clients_get_the_answers_that_they_would_get_alone(server, pairs):
    texts = [
        f"the {a} {b}"
        for a in ("cat", "dog", "small mat", "mat sat on the mat")
        for b in ("ran", "sat on", "a", "x y z w")
    ]
    alone = {text: pairs[0].translator.translate(text) for text in texts}
    wrong = []

    def client(start):
        for step in range(6):
            text = texts[(start * 5 + step * 7) % len(texts)]
            answer = server.translate(text)
            if answer.status != 200 or answer.json["translatedText"] != alone[text]:
                wrong.append((text, answer))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not wrong
    page = server.get("/metrics").body.decode()
    searched = next(line for line in page.splitlines() if line.startswith('seqloom_batch_texts_sum{model="en-de"}'))
    batches = next(line for line in page.splitlines() if line.startswith('seqloom_batch_texts_count{model="en-de"}'))
    assert float(batches.split()[1]) < float(searched.split()[1]), "some were searched together"
