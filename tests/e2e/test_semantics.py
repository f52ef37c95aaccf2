#!/usr/bin/env python3
"""libc's semantics to the letter: programs that print what the allocator does at its edges."""
import shutil
import subprocess

import mp


class Semantics(mp.TestCase):
    def test_c_functions_at_their_edges(self):
        for options in ({}, {"USE_SHADOW_STACK": 0}, {"GRAB_BACKTRACES_ON_FREE": 0},
                        {"DISABLE_BY_DEFAULT": 1}, {"GATHER_MMAP_CALLS": 1}):
            with self.subTest(options=options):
                expected = self.bare([mp.program("semantics")])
                self.assertEqual(0, expected.code)
                self.assertIn(b"the block is as before: 1", expected.stdout)
                self.assertIn(b"errno kept through calls that succeed: 1", expected.stdout)
                seen = self.record([mp.program("semantics")], options=options)
                self.assert_same_behaviour(seen, expected)

    def test_c_functions_are_counted(self):
        self.assert_exact([mp.program("semantics")], at_least=200)

    def test_c_plus_plus_operators(self):
        self.assert_exact([mp.program("semantics_cpp")], at_least=1000)

    def test_operator_new_of_the_program(self):
        self.assert_exact([mp.program("operator_new_own")], at_least=500)

    def test_allocator_of_the_program(self):
        expected = self.bare([mp.program("own_allocator")])
        self.assertEqual(7, expected.code)
        seen = self.record([mp.program("own_allocator")])
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assertEqual(98, facts["reallocations"])
        self.assertRegex(" ".join(facts["notes"]), "^recorded: malloc in the program")
        seen = self.record([mp.program("own_allocator")], options={"HOOK_STATIC": 0})
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assertEqual(0, facts["allocations"])
        self.assertRegex(" ".join(facts["notes"]), "^recorder: not recorded: malloc.. of the program: ")
        result = mp.run([mp.CLI, "run", "-o", self.dir / "own.dat", mp.program("own_allocator")],
                        {**mp.clean_environment(), "MEMORY_PROFILER_HOOK_STATIC": "0"})
        self.assertEqual((7, expected.stdout), (result.code, result.stdout))
        self.assertRegex(result.stderr.decode(), "0 allocations.*\n.*not recorded: malloc.. of the program")

    def test_heaps_of_other_runtimes_are_named(self):
        """Go marks its programs by sections, stripped ones too; Java's machine is a library."""
        go = self.dir / "go"
        (self.dir / "table").write_bytes(b"x")
        subprocess.run(["objcopy", "--strip-all", f"--add-section=.gopclntab={self.dir}/table",
                        mp.program("known_blocks"), go], check=True)
        java = self.dir / "libjvm.so"
        shutil.copy(mp.program("libconstructors.so"), java)
        for argv, language in (([go, "10"], "Go"),
                               ([mp.program("loads_libraries"), java, "plain"], "Java")):
            with self.subTest(language=language):
                notes = "\n".join(mp.info(self.record(argv).recording)["notes"])
                self.assertRegex(notes, f"^recorder: not recorded: {language}'s heap: this is a {language} program")
                self.assertRegex(notes, f"{language}'s heap among it: [0-9]+ KiB")

    def test_allocator_of_the_program_under_another_name(self):
        expected = self.bare([mp.program("own_allocator_named")])
        self.assertEqual(3, expected.code)
        seen = self.record([mp.program("own_allocator_named")])
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assertEqual(10, facts["allocations"])
        self.assertRegex(" ".join(facts["notes"]), "^recorder: not recorded: the program's own allocator ._rjem_malloc.: "
                                                   "to see its blocks, build")
        stripped = self.dir / "stripped"
        subprocess.run(["strip", "-o", stripped, mp.program("own_allocator_named")], check=True)
        for argv in ([stripped], [mp.program("workload")]):
            with self.subTest(argv=argv):
                self.assertEqual([], mp.info(self.record(argv).recording)["notes"])

    def test_allocator_that_is_preloaded_first(self):
        jemalloc = "libjemalloc.so.2"
        for argv in (["/bin/ls", "/"], ["/usr/bin/perl", "-e", "print 1"]):
            with self.subTest(argv=argv):
                expected = self.bare(argv, env={"LD_PRELOAD": jemalloc})
                self.assertEqual(0, expected.code)
                seen = self.record(argv, env={"LD_PRELOAD": f"{jemalloc} {self.library}"})
                self.assert_same_behaviour(seen, expected)
                facts = mp.info(seen.recording)
                self.assertRegex(" ".join(facts["notes"]), f"recorded: jemalloc in .*{jemalloc}")
                self.assertGreater(facts["allocations"], 10)
                seen = self.record(argv, env={"LD_PRELOAD": f"{jemalloc} {self.library}"},
                                   options={"HOOK_STATIC": 0})
                self.assert_same_behaviour(seen, expected)
                facts = mp.info(seen.recording)
                self.assertRegex(" ".join(facts["notes"]), f"not recorded: malloc.. of .*{jemalloc}"
                                                           ".*first in LD_PRELOAD")

    def test_mmap_family_mallopt_and_trim(self):
        expected = self.bare([mp.program("maps_memory")])
        self.assertEqual(b"x 1 0 -1 1 0 1 1 1\n", expected.stdout)
        for gather in (0, 1):
            with self.subTest(gather=gather):
                seen = self.record([mp.program("maps_memory")],
                                   options={"GATHER_MMAP_CALLS": gather})
                self.assert_same_behaviour(seen, expected)

    def test_blocks_whose_realloc_failed_live_on(self):
        seen, facts = self.assert_exact([mp.program("realloc_fails")], at_least=5)
        live = mp.live_sizes(seen.recording)
        # 50004 was freed by realloc(p, 0), 50005 after its realloc had failed.
        self.assertEqual([50001, 50002, 90003], sorted(s for s in live if 50000 < s < 100000))
        self.assertEqual(len(live), facts["live_count"])
        self.assertEqual(sum(live), facts["live_bytes"])


if __name__ == "__main__":
    mp.main()
