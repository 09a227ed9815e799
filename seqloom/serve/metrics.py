"""What Prometheus reads at /metrics. Every server has its own registry; labels come from our own tables only."""

import time
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TEXTS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("seqloom_requests", "Requests answered", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "seqloom_request_seconds", "Time to the answer", ["path"], buckets=SECONDS, registry=registry
        )
        self.batch_texts = Histogram(
            "seqloom_batch_texts", "Texts searched together", ["model"], buckets=TEXTS, registry=registry
        )
        self.search_seconds = Histogram(
            "seqloom_search_seconds", "Time of a batch in the model", ["model"], buckets=SECONDS, registry=registry
        )
        self.queue = Gauge("seqloom_queue_requests", "Requests that wait or are answered", ["model"], registry=registry)
        self.characters = Counter("seqloom_characters", "Characters translated", ["model"], registry=registry)
        self.cut = Counter(
            "seqloom_cut_sentences", "Sentences that were too long for the model", ["model"], registry=registry
        )

    def page(self) -> bytes:
        return generate_latest(self.registry)

    def total_characters(self) -> int:
        samples = [sample for metric in self.characters.collect() for sample in metric.samples]
        return int(sum(sample.value for sample in samples if sample.name.endswith("_total")))


class Measured:
    """Counts and times every request, by the path of its route: a client cannot invent labels."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: frozenset[str]) -> None:
        self.app = app
        # The library needs longer to find a counter by its labels than to count.
        self.requests, self.seconds = cache(metrics.requests.labels), cache(metrics.seconds.labels)
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started = 499, time.perf_counter()  # 499: the client went away

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.requests(path, status).inc()
            self.seconds(path).observe(time.perf_counter() - started)
