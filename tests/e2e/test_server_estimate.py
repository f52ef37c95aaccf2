#!/usr/bin/env python3
"""Requests with `first`: an estimate when the exact answer takes longer, marked; then the exact one,
which all who ask share. /api/v1/requests tells what is being computed."""
import http.client
import json
import threading

import mp
from mp_server import Server

# More blocks of rows than `first=1` reads.
ALLOCATIONS = 400_000
# Every path that takes `first`, with a condition that must look at rows.
QUESTIONS = [
    "summary?size_min=8", "thread_matrix?size_min=8", "groups?by=stack&size_min=8&graph=40",
    "groups?by=size&size_min=8", "functions?size_min=8", "search?q=a&size_min=8",
    "tree?size_min=8", "flamegraph?size_min=8", "timeline?size_min=8&buckets=300",
    "timeline?size_min=8&buckets=100&by=function", "growth?from=10%25&to=90%25&size_min=8",
    "peak?size_min=8", "sizes?size_min=8", "lifetimes?size_min=8", "findings?size_min=8",
]


class Estimate(mp.TestCase):
    def serve(self):
        work = self.dir / "work.dat"
        seen = self.record([mp.program("workload"), str(ALLOCATIONS), "2"],
                           options={"OUTPUT": str(work)})
        self.assertTrue(work.exists(), seen.stderr)
        return Server(work)

    def test_the_exact_answer_follows_and_is_the_direct_one(self):
        with self.serve() as server, Server(self.dir / "work.dat") as direct:
            server.get("/data/last/timeline")
            direct.get("/data/last/timeline")
            n_estimates = 0
            for question in QUESTIONS:
                with self.subTest(question):
                    first = server.json(f"/api/v1/last/{question}&first=1")
                    exact = server.json(f"/api/v1/last/{question}")
                    right = direct.json(f"/api/v1/last/{question}")
                    self.assertNotIn("estimate", exact)
                    self.assertEqual(right, exact)
                    if "estimate" in first:
                        n_estimates += 1
                        self.assertGreater(first["estimate"]["read_percent"], 0)
                        self.assertLess(first["estimate"]["read_percent"], 100)
                        self.assertEqual(set(exact), set(first) - {"estimate"})
                    else:
                        self.assertEqual(right, first)
                    # what is known is never estimated
                    self.assertEqual(right, server.json(f"/api/v1/last/{question}&first=1"))
            self.assertGreater(n_estimates, 0)

    def test_an_estimate_is_not_kept(self):
        with self.serve() as server:
            server.get("/data/last/timeline")
            for n in range(1, 60):
                answer = server.get(f"/api/v1/last/timeline?size_min={n}&buckets=2000&first=1")
                if "estimate" in answer.json():
                    self.assertIsNone(answer.headers["ETag"])
                    self.assertEqual("no-store", answer.headers["Cache-Control"])
                    return
            self.fail("no answer was an estimate")

    def test_first_does_not_change_the_question(self):
        with self.serve() as server:
            server.get("/data/last/timeline")
            self.assertEqual(server.json("/api/v1/last/summary"),
                             server.json("/api/v1/last/summary?first=5000"))
            answer = server.get("/api/v1/last/summary?first=soon")
            self.assertEqual((400, "first"), (answer.status, answer.json()["parameter"]))

    def ask_at_once(self, server, question, n):
        """The answers that n clients get, and the jobs that were seen meanwhile: number -> most
        clients that waited for it."""
        answers, jobs, over = [], {}, threading.Event()

        def look():
            while not over.is_set():
                for job in self.running(server, question):
                    jobs[job["number"]] = max(job["waiting"], jobs.get(job["number"], 0))

        looking = threading.Thread(target=look)
        asking = [threading.Thread(
            target=lambda: answers.append(server.json(f"/api/v1/last/{question}")))
                  for _ in range(n)]
        for t in [looking, *asking]:
            t.start()
        for t in asking:
            t.join()
        over.set()
        looking.join()
        return answers, jobs

    def test_all_who_ask_the_same_share_one_computation(self):
        with self.serve() as server:
            server.get("/data/last/timeline")
            # shorter than the queue to a client: else a slow one makes others compute for themselves
            for n in range(60):
                answers, jobs = self.ask_at_once(
                    server, f"timeline?size_min={8 + n}&buckets=3000", 6)
                self.assertEqual(6, len(answers))
                self.assertTrue(all(a == answers[0] for a in answers))
                self.assertLessEqual(len(jobs), 1)
                if any(most > 1 for most in jobs.values()):
                    return
            self.fail("nobody was seen waiting for the answer of somebody else")

    def running(self, server, word):
        return [j for j in server.json("/api/v1/requests")["requests"] if word in j["path"]]

    def test_a_question_tells_how_far_it_is_and_ends_with_its_client(self):
        with self.serve() as server:
            server.get("/data/last/timeline")
            # nobody takes the answer, so it is not complete before the client has gone
            path = "/data/last/export/replay?size_min=9&token=secret"
            connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
            connection.request("GET", path)
            seen = mp.wait_for(lambda: self.running(server, "size_min=9"), 60)
            self.assertEqual({"number", "path", "seconds", "passes", "percent", "waiting",
                              "is_estimate"}, set(seen[0]))
            self.assertNotIn("secret", json.dumps(seen))
            self.assertEqual(1, seen[0]["waiting"])
            connection.close()
            mp.wait_for(lambda: not self.running(server, "size_min=9"), 60)


if __name__ == "__main__":
    mp.main()
