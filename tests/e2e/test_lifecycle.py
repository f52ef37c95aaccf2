#!/usr/bin/env python3
"""From a program's first moment to its last: constructors, threads, handlers, fibers, libraries."""
import os
import subprocess
import time

import mp

LIBRARY = mp.program("libconstructors.so")


class Threads(mp.TestCase):
    def test_ways_to_end(self):
        for how in ("return", "pthread_exit", "cancel", "cancel_async"):
            with self.subTest(how=how):
                self.assert_exact([mp.program("threads_end"), how], at_least=6000)

    def test_detached(self):
        # Whether a new thread finds the stack of the last one is chance, and costs a calloc.
        expected = self.bare([mp.program("threads_end"), "detached"])
        seen = self.record([mp.program("threads_end"), "detached"])
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        self.assertEqual(6400, facts["reallocations"])
        self.assertGreaterEqual(facts["frees"], 6560)

    def test_two_thousand_short_ones(self):
        _, facts = self.assert_exact([mp.program("threads_end"), "storm"], at_least=300000)
        self.assertEqual(2001, facts["threads"])

    def test_main_ends_first(self):
        argv = [mp.program("threads_end"), "main_first"]
        seen, facts = self.assert_exact(argv, at_least=7000)
        # The kernel forgets some things about a process whose first thread has ended.
        self.assertEqual({}, facts["truncated_stacks"])
        self.assertEqual(b"main ends\nworker 1 ends\nworker 2 ends\nworker 3 ends\n", seen.stdout)
        # It ends with its last thread: not before (above), and not much later.
        folder = self.new_folder()
        child = subprocess.Popen(argv, env=self.recorder_environment(folder), cwd=self.dir,
                                 stdout=subprocess.PIPE)
        last = [line for line in child.stdout][-1]
        ended = time.monotonic()
        self.assertEqual(b"worker 3 ends\n", last)
        self.assertEqual(0, child.wait(mp.TIMEOUT_S))
        child.stdout.close()
        self.assertLess(time.monotonic() - ended, 2)

    def test_thread_local_destructors_allocate(self):
        self.assert_exact([mp.program("tls_destructor")], at_least=1000)

    def test_smallest_stacks(self):
        self.assert_exact([mp.program("small_stacks")], at_least=100000)

    def test_smallest_stacks_walked_in_full(self):
        self.assert_exact([mp.program("small_stacks")], at_least=100000,
                          options={"USE_SHADOW_STACK": 0})

    def test_fibers(self):
        _, facts = self.assert_exact([mp.program("fibers")], at_least=40000)
        self.assertGreaterEqual(facts["threads"], 2)


class Loading(mp.TestCase):
    def test_constructors_and_destructors(self):
        self.assert_exact([mp.program("constructors")], at_least=1000)

    def test_dlopened_constructors(self):
        for how in ("plain", "thread", "missing", "dlmopen"):
            with self.subTest(how=how):
                self.assert_exact([mp.program("loads_libraries"), LIBRARY, how], at_least=20)

    def test_deepbind_hides_nothing(self):
        argv = [mp.program("loads_libraries"), LIBRARY]
        expected = self.bare([*argv, "deepbind"])
        self.assertEqual(0, expected.code)
        seen = self.record([*argv, "deepbind"])
        self.assert_same_behaviour(seen, expected)
        _, totals = self.counted([*argv, "plain"])
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        for key in ("allocations", "reallocations", "frees"):
            self.assertEqual(totals[key], facts[key], key)

    def test_together_with_another_preloaded_library(self):
        argv = [mp.program("workload"), "50000", "2"]
        expected = self.bare(argv)
        for order in ((self.truth, self.library), (self.library, self.truth)):
            with self.subTest(first=order[0].parent.name):
                folder = self.new_folder()
                env = {"LD_PRELOAD": ":".join(map(str, order)), "MP_TRUTH_OUT": f"{folder}/totals"}
                seen = self.record(argv, env=env, folder=folder)
                self.assert_same_behaviour(seen, expected)
                facts = mp.info(seen.recording)
                self.assert_nothing_lost(facts)
                self.assertEqual(mp.read_totals(folder / "totals"),
                                 {key: facts[key] for key in mp.COUNTS})


class Signals(mp.TestCase):
    def test_handlers_that_allocate(self):
        for how in ("raise", "timer", "altstack", "thread", "nested"):
            with self.subTest(how=how):
                self.assert_exact([mp.program("alloc_in_signal"), how], at_least=1000)


    def test_handler_that_interrupts_the_recorder(self):
        expected = self.bare([mp.program("alloc_in_signal"), "mmap"])
        seen = self.record([mp.program("alloc_in_signal"), "mmap"],
                           options={"GATHER_MMAP_CALLS": 1})
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        self.assertGreater(facts["reallocations"], 1000)
        mine = [e for e in mp.events(seen.recording, "mmap", "munmap") if e["length"] == 4096]
        self.assertGreaterEqual(len(mine), 2000, "each handler maps and unmaps a page")
        self.assertTrue(any(e.get("lane") for e in mine), "no handler interrupted the recorder")


class Run(mp.TestCase):
    """`memory-profiler-cli run`."""

    def run_cli(self, *argv, **how):
        return mp.run([mp.CLI, "run", *argv], mp.clean_environment(), cwd=self.dir, **how)

    def test_static_programs_are_refused(self):
        for name in ("static_program", "static_pie_program"):
            with self.subTest(program=name):
                bare = self.bare([mp.program(name)])
                self.assertEqual(0, bare.code, "it runs, so the refusal is ours")
                seen = self.run_cli("-o", self.dir / "out.dat", "--", mp.program(name))
                self.assertNotEqual(0, seen.code)
                self.assertIn(b"static", seen.stderr)
                self.assertFalse((self.dir / "out.dat").exists())

    def test_exit_status_and_output_are_passed_on(self):
        expected = self.bare([mp.program("workload"), "1000"])
        seen = self.run_cli("-o", self.dir / "out.dat", "--", mp.program("workload"), "1000")
        self.assertEqual(expected.behaviour(), seen.behaviour())
        self.assertIn(b"out.dat", seen.stderr)
        facts = mp.info(self.dir / "out.dat")
        self.assertTrue(facts["complete"])
        self.assertGreater(facts["allocations"], 500)
        self.assertEqual([mp.program("workload"), "1000"], words(facts["cmdline"]))


def words(cmdline):
    return cmdline.split() if isinstance(cmdline, str) else cmdline


if __name__ == "__main__":
    mp.main()
