#!/usr/bin/env python3
"""Nothing harms the target: whatever fails for the recorder, the program does what it does bare."""
import contextlib
import os
import pathlib
import resource
import shutil
import subprocess
import unittest

import mp

KIB, MIB = 1024, 1024 * 1024
WORK = [mp.program("workload"), "60000", "2"]  # about 360 000 calls: several MiB of events
FORK_TIMEOUT_S = 150


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


class Storage(mp.TestCase):
    """The recording cannot be written."""

    def setUp(self):
        super().setUp()
        self.expected = self.bare(WORK)
        self.assertEqual(7, self.expected.code)

    def record_and_compare(self, argv=None, **how):
        expected = self.bare(argv, setup=how.get("setup")) if argv else self.expected
        seen = self.record(argv or WORK, **how)
        self.assert_same_behaviour(seen, expected)
        return seen

    def check_loss_is_reported(self, seen, recordings, n_events):
        """A loss is in the log, and in the recording if there is one, to the last event."""
        facts = [f for f in map(self.info_or_none, recordings) if f]
        lost = not facts
        for f in facts:
            lost = lost or f["lost_events"] > 0
            # A realloc is two records, which may lie on both sides of where a lost block begins.
            self.assertAlmostEqual(n_events, f["events"] + f["lost_events"],
                                   delta=2 * f["lost_blocks"],
                                   msg=f"events are missing, and nobody says so: {seen.log}")
            if f["lost_events"] == 0:
                self.assert_nothing_lost(f)
            else:
                self.assertFalse(f["complete"])
                self.assertNotEqual([], f["notes"])
        if lost:
            self.assertRegex(seen.log, "(?i)warn|wrn|err", "the log does not tell of the loss")
        return lost

    @staticmethod
    def info_or_none(path):
        """A file that could not even get its first page may be refused, but with a message."""
        done = subprocess.run([mp.CLI, "info", "--json", path], capture_output=True, text=True,
                              check=False, timeout=60)
        if done.returncode == 0:
            return mp.info(path)
        if done.returncode != 1 or path.name not in done.stderr:
            raise AssertionError(f"info {path}: {done.returncode} {done.stderr}")
        return None

    @mp.needs_root("mounts a small tmpfs")
    def test_full_tmpfs(self):
        n_events = mp.info(self.record(WORK).recording)["events"]
        self.assertGreater(n_events, 100000)
        n_lost = n_partial = 0
        for size in (0, 4 * KIB, 64 * KIB, 200 * KIB, 512 * KIB, MIB, 3 * MIB // 2, 2 * MIB, 3 * MIB,
                     4 * MIB, 6 * MIB, 8 * MIB):
            with self.subTest(tmpfs_bytes=size), self.small_tmpfs(size) as folder:
                folder_of_log = self.new_folder()
                seen = self.record_and_compare(options={
                    "OUTPUT": f"{folder}/%p.dat",
                    "LOGFILE": f"{folder_of_log}/log.%p"}, folder=folder_of_log)
                recordings = sorted(pathlib.Path(folder).glob("*.dat"))
                lost = self.check_loss_is_reported(seen, recordings, n_events)
                n_lost += lost
                n_partial += lost and any(map(self.info_or_none, recordings))
        self.assertGreater(n_lost, 3, "the file systems were not small enough to show anything")
        self.assertGreater(n_partial, 0, "no recording with a loss could be read")

    @contextlib.contextmanager
    def small_tmpfs(self, size):
        folder = self.dir / f"tmpfs{size}"
        folder.mkdir()
        options = f"size={size}" if size else "size=4k"
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder],
                                 check=False, capture_output=True, text=True, timeout=30)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        try:
            if size == 0:  # not a byte left
                with contextlib.suppress(OSError), open(folder / "filler", "wb") as f:
                    f.write(bytes(64 * KIB))
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True, timeout=30)

    def test_file_size_limit(self):
        n_events = mp.info(self.record(WORK).recording)["events"]
        self.assertGreater(n_events, 100000)
        n_lost = 0
        for size in (100, 4 * KIB, 64 * KIB, 500 * KIB, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 64 * MIB):
            with self.subTest(limit=size):
                # The program's own output, 24 bytes, fits; our log does not.
                setup = limit(resource.RLIMIT_FSIZE, size)
                seen = self.record_and_compare(setup=setup)
                self.assertEqual(b"", seen.stderr)
                if size >= 64 * KIB:
                    n_lost += self.check_loss_is_reported(seen, seen.recordings, n_events)
        self.assertGreater(n_lost, 0, "no limit was small enough to show anything")

    def test_folder_that_does_not_exist(self):
        folder = self.new_folder()
        seen = self.record_and_compare(folder=folder,
                                       options={"OUTPUT": f"{self.dir}/no/such/folder/%p.dat"})
        self.assertIn("/no/such/folder/", seen.log)
        self.assertFalse((self.dir / "no").exists())

    @mp.needs_root("a file of another user")
    def test_name_that_a_file_of_another_user_has(self):
        """As when a recorded process becomes another user and executes its own program again."""
        work = self.open_to_all("workload")
        folder = self.new_folder()
        os.chmod(folder, 0o1777)
        taken = folder / "fixed.dat"
        taken.write_bytes(b"of root")
        os.chmod(taken, 0o600)
        self.record_and_compare([work, *WORK[1:]], folder=folder, setup=become_nobody,
                                options={"OUTPUT": taken})
        self.assertEqual(b"of root", taken.read_bytes())
        self.assertTrue(mp.info(folder / "fixed.1.dat")["complete"])

    def test_folder_that_is_not_writable(self):
        closed = self.dir / "closed"
        closed.mkdir()
        setup = None
        work = self.open_to_all("workload")
        if mp.IS_ROOT:  # root may write anywhere: become somebody else first
            setup = become_nobody
        os.chmod(closed, 0o555)
        folder = self.new_folder()
        os.chmod(folder, 0o777)
        seen = self.record_and_compare([work, *WORK[1:]], folder=folder, setup=setup,
                                       options={"OUTPUT": f"{closed}/%p.dat"})
        self.assertIn("/closed/", seen.log)
        self.assertEqual([], list(closed.iterdir()))

    def test_output_is_a_folder_or_a_device(self):
        for name in (str(self.dir), "/dev/full", "/dev/null"):
            with self.subTest(output=name):
                self.record_and_compare(options={"OUTPUT": name})
        self.assertTrue(os.path.exists("/dev/full"), "a device must not be renamed")
        self.assertTrue(os.path.exists("/dev/null"), "a device must not be renamed")

    def test_recording_is_removed_while_it_grows(self):
        folder = self.new_folder()
        program = subprocess.Popen(
            [mp.program("waits_for_input")], env=self.recorder_environment(folder),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.dir)
        self.addCleanup(program.stdout.close)
        self.assertEqual("ready\n", program.stdout.readline())
        shutil.rmtree(folder)
        for _ in range(20000):
            program.stdin.write("100\n")
        program.stdin.flush()
        for _ in range(20000):
            self.assertEqual("made\n", program.stdout.readline())
        program.stdin.close()
        self.assertEqual(5, program.wait(mp.TIMEOUT_S))

    def test_log_that_cannot_be_written(self):
        for log in ("/dev/full", f"{self.dir}/no/such/folder/log", str(self.dir)):
            with self.subTest(log=log):
                seen = self.record(WORK, options={"LOGFILE": log, "LOG": "trace"})
                self.assertEqual(self.expected.behaviour(), seen.behaviour())
                lines = seen.stderr.splitlines()
                self.assertEqual([] if log == "/dev/full" else [lines[0]], lines)
                for line in lines:
                    self.assertIn(b"the log cannot be written", line)
                self.assertEqual(0, mp.info(seen.recording)["lost_events"])


def become_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


class Memory(mp.TestCase):
    @mp.needs_root("becomes somebody who has no process left")
    def test_no_thread_can_be_started(self):
        argv = [self.open_to_all("workload"), "20000"]
        folder = self.new_folder()
        os.chmod(folder, 0o777)

        def setup():
            become_nobody()
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

        expected = self.bare(argv, setup=setup)
        self.assertEqual(7, expected.code)
        seen = self.record(argv, setup=setup, folder=folder)
        self.assert_same_behaviour(seen, expected)
        self.assertIn("no process can be started", seen.log)
        self.assertEqual([], seen.recordings)

    def test_valgrind_cannot_run_our_thread(self):
        for tool in ("none", "memcheck"):
            with self.subTest(tool=tool):
                argv = ["/usr/bin/valgrind", "-q", f"--tool={tool}", mp.program("workload"), "2000"]
                expected = self.bare(argv)
                self.assertEqual(7, expected.code)
                seen = self.record(argv, options={"TRACK_CHILD_PROCESSES": 1})
                self.assert_same_behaviour(seen, expected)
                self.assertIn("valgrind", seen.log)

    def test_address_space_limit(self):
        n_recorded = 0
        for size in (5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512):
            with self.subTest(mib=size):
                setup = limit(resource.RLIMIT_AS, size * MIB)
                argv = [mp.program("workload"), "20000"]
                expected = self.bare(argv, setup=setup)
                seen = self.record(argv, setup=setup)
                if expected.code == 7:
                    # The loader says so on stderr when there is no room for the library itself.
                    self.assertEqual(expected.behaviour(), seen.behaviour(), seen.stderr)
                for path in seen.recordings:
                    facts = mp.info(path)
                    n_recorded += facts["lost_events"] == 0 and facts["allocations"] > 10000
        self.assertGreater(n_recorded, 0)


class Descriptors(mp.TestCase):
    def test_numbers_are_those_of_a_bare_run(self):
        expected = self.bare([mp.program("fd_numbers")])
        self.assertEqual(0, expected.code)
        seen = self.record([mp.program("fd_numbers")])
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        self.assertGreater(facts["allocations"], 40000)

    def test_program_that_closes_every_descriptor(self):
        for how in ("loop", "close_range", "dup2", "threads"):
            with self.subTest(how=how):
                argv = [mp.program("closes_descriptors"), how, self.new_folder()]
                expected = self.bare(argv)
                self.assertEqual(0, expected.code, expected.stdout)
                seen = self.record(argv)
                self.assert_same_behaviour(seen, expected)
                facts = mp.info(seen.recording)
                self.assert_nothing_lost(facts)
                self.assertGreater(facts["allocations"], 100000)

    def test_no_descriptor_left_at_exec_time(self):
        # 3: not even the loader can open a library; 4: it has a single number to work with.
        for number in (3, 4, 5):
            with self.subTest(ulimit=number):
                setup = limit(resource.RLIMIT_NOFILE, number)
                expected = self.bare(WORK, setup=setup)
                seen = self.record(WORK, setup=setup)
                self.assertEqual(expected.behaviour(), seen.behaviour(), seen.stderr)
                if number == 5:
                    self.assertEqual(0, mp.info(seen.recording)["lost_events"])

    def test_descriptors_used_up_before_any_constructor(self):
        argv = [mp.program("descriptors_used_up")]
        expected = self.bare(argv)
        self.assertEqual(0, expected.code)
        seen = self.record(argv)
        self.assert_same_behaviour(seen, expected)

    def test_standard_descriptors_are_closed_at_exec_time(self):
        argv = [mp.program("workload"), "60000", "2", self.dir / "digest"]
        for closed in ((0,), (0, 1), (0, 1, 2)):
            with self.subTest(closed=closed):
                def setup(closed=closed):
                    for fd in closed:
                        os.close(fd)
                expected = self.bare(argv, setup=setup)
                digest = (self.dir / "digest").read_text()
                (self.dir / "digest").unlink()
                seen = self.record(argv, setup=setup)
                self.assert_same_behaviour(seen, expected)
                self.assertEqual(digest, (self.dir / "digest").read_text())
                self.assert_nothing_lost(mp.info(seen.recording))


class Identity(mp.TestCase):
    def daemonise(self, env):
        report = self.dir / "report"
        report.unlink(missing_ok=True)
        end, start = os.pipe()
        seen = mp.run([mp.program("becomes_daemon"), report], env, cwd=self.dir, pass_fds=(start,))
        os.close(start)
        os.read(end, 1)  # ends when the daemon does
        os.close(end)
        return seen, report.read_text()

    def test_daemon(self):
        expected = self.daemonise(mp.clean_environment())
        self.assertRegex(expected[1], "daemon: sum [1-9]")
        for track, n_recordings in ((0, 1), (1, 3)):
            with self.subTest(track=track):
                folder = self.new_folder()
                seen = self.daemonise(
                    self.recorder_environment(folder, TRACK_CHILD_PROCESSES=track))
                self.assertEqual(expected[1], seen[1])
                self.assert_same_behaviour(self.collect(seen[0], folder), expected[0])
                facts = [mp.info(p) for p in seen[0].recordings]
                self.assertEqual(n_recordings, len(facts))
                for f in facts:
                    self.assert_nothing_lost(f)
                most = max(f["allocations"] for f in facts)
                self.assertEqual(track == 1, most > 90000, "only the daemon makes so many")

    @mp.needs_root("chroot")
    def test_chroot(self):
        self.check_identity(["chroot", self.new_folder()])

    @mp.needs_root("setuid")
    def test_dropped_privileges(self):
        self.check_identity(["setuid", "65534"])

    def test_another_user_namespace(self):
        """Open to processes with one thread only, which the writer must not be counted in."""
        program = mp.program("leaves_namespace")
        if b"unshare: done" not in self.bare([program, "unshare"]).stdout:
            self.skipTest("user namespaces are not allowed here")
        for how in ("unshare", "setns", "twice", "mapped", "thread", "often"):
            with self.subTest(how=how):
                expected = self.bare([program, how])
                self.assertEqual(0, expected.code)
                seen = self.record([program, how])
                self.assert_same_behaviour(seen, expected)
                facts = mp.info(seen.recording)
                self.assert_nothing_lost(facts)
                self.assertTrue(facts["complete"])
                self.assertGreaterEqual(facts["allocations"], 90000)

    def test_process_1_that_waits_until_it_is_alone(self):
        """Of its pid namespace, which its writer is in."""
        for arguments in ([], ["exec"]):
            with self.subTest(arguments=arguments):
                argv = [mp.program("waits_until_alone"), *arguments]
                expected = self.bare(argv)
                if expected.code == 2:
                    self.skipTest("pid namespaces are not allowed here")
                self.assertEqual(2, expected.stdout.count(b"alone"), expected.stdout)
                self.assertEqual(0, expected.stdout.count(b"not alone"), expected.stdout)
                folder = self.new_folder()
                seen = self.record(argv, folder=folder, options={
                    "TRACK_CHILD_PROCESSES": 1, "OUTPUT": f"{folder}/%e_%p.dat"})
                self.assert_same_behaviour(seen, expected)
                facts = [mp.info(p) for p in seen.recordings]
                self.assertEqual(4 if arguments else 3, len(facts))
                for f in facts:
                    self.assert_nothing_lost(f)
                    self.assertTrue(f["complete"])
                    self.assertFalse([n for n in f["notes"] if "killed" in n])
                first = [f for f in facts if f["pid"] == 1]
                self.assertEqual(1, sum(f["allocations"] >= 120000 for f in first))

    def check_identity(self, arguments):
        argv = [mp.program("changes_identity"), *arguments]
        expected = self.bare(argv)
        self.assertEqual(0, expected.code, expected.stdout)
        seen = self.record(argv)
        self.assert_same_behaviour(seen, expected)
        facts = mp.info(seen.recording)
        self.assert_nothing_lost(facts)
        self.assertTrue(facts["complete"])
        self.assertGreaterEqual(facts["allocations"], 150000)  # before, after, and in the thread
        self.assertGreaterEqual(facts["threads"], 2)


class Sandbox(mp.TestCase):
    """Programs that forbid themselves system calls which the recorder makes."""

    def enter(self, how, **options):
        argv = [mp.program("sandboxes_itself"), how]
        expected = self.bare(argv)
        if expected.code == 2:
            self.skipTest(f"no seccomp here: {expected.stderr.decode()}")
        self.assertEqual((9, b"in the sandbox\ndone\n"), expected.behaviour())
        seen = self.record(argv, options=options)
        self.assert_same_behaviour(seen, expected)
        return seen

    def test_recording_cannot_begin_where_it_would_kill(self):
        for how in ("strict", "kill_all"):
            with self.subTest(how=how):
                self.assertEqual([], self.enter(how, DISABLE_BY_DEFAULT=1).recordings)
        facts = mp.info(self.enter("harmless", DISABLE_BY_DEFAULT=1).recording)
        self.assertGreaterEqual(facts["allocations"], 5 * 60000)

    def test_what_would_kill_ends_the_recording_before(self):
        for how in ("strict", "kill", "kill_all", "errno", "prctl", "threads"):
            for _ in range(3):
                with self.subTest(how=how):
                    seen = self.enter(how)
                    facts = mp.info(seen.recording)
                    self.assertFalse(facts["complete"])
                    self.assertEqual("recording ended before the program", facts["ended"])
                    self.assertRegex(" ".join(facts["notes"]), "system calls.*seccomp")
                    self.assertIn("seccomp", seen.log)
                    self.assertGreaterEqual(facts["allocations"], 60000)
                    self.assertEqual(0, facts["lost_events"])
                    self.assertEqual(0, facts["unknown_frees"])
                    text = subprocess.run([mp.CLI, "info", seen.recording], capture_output=True,
                                          text=True, check=True, timeout=60).stdout
                    self.assertRegex(text.split("\n")[0] + text.split("\n")[1],
                                     "ended before the program.*system calls")

    def test_calls_that_the_recorder_can_do_without(self):
        """Firefox's content processes and sshd's child before the login."""
        for track in (0, 1):
            with self.subTest(track=track):
                seen = self.enter("files", TRACK_CHILD_PROCESSES=track)
                self.assertEqual(1, len(seen.recordings), "a child under the filter is not recorded")
                facts = mp.info(seen.recording)
                self.assertTrue(facts["complete"], facts)
                self.assert_nothing_lost(facts)
                self.assertEqual({}, facts["truncated_stacks"])
                self.assertGreaterEqual(facts["allocations"], 9 * 60000)
                self.assertRegex(" ".join(facts["notes"]), "forbade itself system calls.*seccomp")

    def test_children_that_can_create_no_file(self):
        """Their parent's recording says so: they are silent themselves."""
        seen = self.enter("refuses", TRACK_CHILD_PROCESSES=1)
        facts = mp.info(seen.recording)
        self.assertTrue(facts["complete"], facts)
        self.assert_nothing_lost(facts)
        self.assertEqual(1, len(seen.recordings))
        note = [n for n in facts["notes"] if "not recorded" in n]
        self.assertTrue(note, facts["notes"])
        self.assertRegex(note[-1], r"^recorder: 3 forked children are not recorded.*"
                                   r"EACCES: permission denied \(errno 13\)$")
        text = subprocess.run([mp.CLI, "report", seen.recording], capture_output=True,
                              text=True, check=True, timeout=60).stdout
        self.assertIn("3 forked children are not recorded", " ".join(text.split()))
        facts = mp.info(self.enter("refuses", TRACK_CHILD_PROCESSES=0).recording)
        self.assertEqual([], [n for n in facts["notes"] if "not recorded" in n])

    def test_what_does_no_harm_changes_nothing(self):
        for how in ("harmless", "asks"):
            with self.subTest(how=how):
                facts = mp.info(self.enter(how).recording)
                self.assertTrue(facts["complete"], facts)
                self.assert_nothing_lost(facts)
                self.assertGreaterEqual(facts["allocations"], 6 * 60000)


class Forks(mp.TestCase):
    """Children of a program whose threads allocate without pause: no hang, right results."""

    def storm(self, n, how, track, n_threads=8):
        argv = [mp.program("fork_storm"), n, how, n_threads]
        seen = self.record(argv, timeout=FORK_TIMEOUT_S, options={
            "TRACK_CHILD_PROCESSES": track, "WRITE_BINARIES_TO_OUTPUT": 0})
        self.assertEqual(f"{n} of {n} children ended with 42\n".encode(), seen.stdout, seen.stderr)
        self.assertEqual(0, seen.code)
        self.assertEqual(b"", seen.stderr)
        facts = mp.info(*seen.recordings)
        facts = facts if isinstance(facts, list) else [facts]
        for f in facts:
            self.assertEqual(0, f["lost_events"], f"{f['pid']}\n{seen.log}")
            self.assertEqual(0, f["duplicate_allocations"])
        return sorted(facts, key=lambda f: f["allocations"])

    def test_forks_without_tracking(self):
        facts = self.storm(1000, "fork", 0)
        self.assertEqual(1, len(facts), "children leave no recording")
        self.assertEqual(0, facts[0]["unknown_frees"])

    def test_forks_with_tracking(self):
        facts = self.storm(1000, "fork", 1)
        self.assertEqual(1001, len(facts), "each child leaves its own recording")
        self.check_children(facts[:-1], 201)

    def check_children(self, facts, calls):
        """Each has its own calls and, at most, frees of blocks that it inherited."""
        for f in facts:
            self.assertEqual(calls, f["allocations"])
            self.assertEqual(calls, f["frees"])
            self.assertEqual(0, f["unknown_frees"])

    def test_bare_clone_without_tracking(self):
        self.assertEqual(1, len(self.storm(300, "clone", 0)))

    def test_bare_clone_with_tracking(self):
        facts = self.storm(300, "clone", 1)
        self.assertEqual(301, len(facts))
        self.check_children(facts[:-1], 5)

    def test_forks_from_threads(self):
        self.assertEqual(1, len(self.storm(100, "thread", 0)))
        facts = self.storm(100, "thread", 1)
        self.assertEqual(101, len(facts))
        self.check_children(facts[:-1], 201)

    def test_forked_children_that_start_threads(self):
        self.assertEqual(1, len(self.storm(100, "threads_in_child", 0)))
        facts = self.storm(100, "threads_in_child", 1)
        self.assertEqual(101, len(facts))
        for f in facts[:-1]:
            self.assertGreaterEqual(f["allocations"], 4 * 201)
            self.assertEqual(4, f["threads"])
            self.assertEqual(0, f["unknown_frees"])

    def test_children_that_execute_something(self):
        for how in ("vfork", "vfork_exec", "spawn", "system", "popen"):
            with self.subTest(how=how):
                facts = self.storm(50, how, 0)
                self.assertEqual(1, len(facts))
                self.assertEqual(0, facts[0]["unknown_frees"])
                facts = self.storm(50, how, 1)
                self.assertGreaterEqual(len(facts), 1 if how == "vfork" else 51)

    def test_fork_in_a_signal_handler(self):
        argv = [mp.program("fork_in_handler"), "200"]
        expected = self.bare(argv)
        self.assertEqual(0, expected.code)
        for track in (0, 1):
            with self.subTest(track=track):
                seen = self.record(argv, options={"TRACK_CHILD_PROCESSES": track,
                                                  "WRITE_BINARIES_TO_OUTPUT": 0})
                self.assert_same_behaviour(seen, expected)
                parent = max((mp.info(p) for p in seen.recordings),
                             key=lambda f: f["allocations"])
                self.assert_nothing_lost(parent)
                self.assertGreater(parent["allocations"], 1000)

    def test_exec_chain_with_tracking(self):
        for n in range(4):
            shutil.copy(mp.program("exec_chain"), self.dir / f"chain.{n}")
        argv = [self.dir / "chain.3", "3"]
        expected = self.bare(argv)
        self.assertEqual((9, b"end of the chain\n"), expected.behaviour())
        folder = self.new_folder()
        seen = self.record(argv, folder=folder, options={
            "OUTPUT": f"{folder}/%e_%p.dat", "TRACK_CHILD_PROCESSES": 1})
        self.assert_same_behaviour(seen, expected)
        facts = [mp.info(p) for p in seen.recordings]
        self.assertEqual([f"chain.{n}" for n in range(4)],
                         [os.path.basename(f["executable"]) for f in facts])
        self.assertEqual(1, len({f["pid"] for f in facts}), "one process all the way")
        for n, f in enumerate(facts):
            self.assertGreaterEqual(f["bytes_allocated"], 1000 * (100 + n))
            self.assertLess(f["bytes_allocated"], 1000 * (100 + n) + 20000)
            self.assert_nothing_lost(f)

    def test_exec_chain_without_tracking(self):
        for n in range(4):
            shutil.copy(mp.program("exec_chain"), self.dir / f"chain.{n}")
        seen = self.record([self.dir / "chain.3", "3"])
        self.assertEqual((9, b"end of the chain\n"), seen.behaviour())
        self.assertEqual(f"{self.dir}/chain.3", mp.info(seen.recording)["executable"])

    def test_programs_started_in_every_way(self):
        for how in ("fork_exec", "vfork_exec", "spawn", "system", "popen", "execvpe"):
            argv = [mp.program("starts_program"), how, mp.program("known_blocks"), "300"]
            expected = self.bare(argv)
            self.assertEqual(0, expected.code)
            self.assertIn(b"(unset)", expected.stdout)
            with self.subTest(how=how, track=0):
                seen = self.record(argv)
                self.assert_same_behaviour(seen, expected)
                self.assertEqual("starts_program",
                                 os.path.basename(mp.info(seen.recording)["executable"]))
            with self.subTest(how=how, track=1):
                seen = self.record(argv, options={"TRACK_CHILD_PROCESSES": 1})
                self.assertEqual(0, seen.code)
                of_child = [f for f in map(mp.info, seen.recordings)
                            if f["executable"].endswith("/known_blocks")]
                self.assertEqual(1, len(of_child))
                self.assertGreaterEqual(of_child[0]["allocations"], 300)
                self.assertGreaterEqual(of_child[0]["bytes_allocated"], 300 * 1234)


if __name__ == "__main__":
    mp.main()
