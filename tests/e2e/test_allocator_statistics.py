#!/usr/bin/env python3
"""What allocators say of the memory that they hold: asked by threads of the program, never where that
could hang."""
import subprocess

import mp
from mp_linked import LinkedTestCase, library

# Two seconds and more: a question is asked once a second.
CLOCK = r"""
    #include <time.h>
    static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec + t.tv_nsec * 1e-9;
    }
"""


class Statistics(LinkedTestCase):
    def program(self, name, text, *argv):
        source = self.here / f"{name}.c"
        source.write_text(CLOCK + text)
        return self.build(name, "gcc", "-O1", "-g", "-fno-builtin", source, *argv, "-lpthread",
                          "-lstdc++", "-lm", "-ldl")

    def held(self, recording):
        return subprocess.run([mp.CLI, "info", recording], capture_output=True, text=True,
                              check=True).stdout

    def test_allocators_say_what_they_hold(self):
        """A program that holds 40 MiB of each allocator for some seconds."""
        program = self.program("holds", r"""
            #include <errno.h>
            #include <stdlib.h>
            void *_rjem_malloc(size_t), _rjem_free(void *);
            int main(void) {
                double end = now() + 3;
                for (int i = 0; i < 40; i++) {
                    volatile char *a = malloc(1 << 20), *b = _rjem_malloc(1 << 20);
                    for (int k = 0; k < 1 << 20; k += 4096) a[k] = b[k] = 1;
                }
                errno = 77;
                while (now() < end) { _rjem_free(_rjem_malloc(50)); free(malloc(50)); }
                return errno == 77 ? 9 : 1;
            }
        """, self.prefixed_jemalloc())
        seen = self.record([program])
        self.assertEqual(9, seen.code)
        text = self.held(seen.recording)
        self.assertRegex(text, r"Allocators hold +4\d.\d MiB from the system, 4\d.\d MiB of it in blocks "
                               r"\(libc, last sample\)")
        self.assertRegex(text, r"[45]\d.\d MiB from the system, 4\d.\d MiB of it in blocks "
                               r"\(jemalloc, last sample\)")
        seen = self.record([program], options={"ALLOCATOR_STATISTICS": 0})
        self.assertEqual(9, seen.code)
        self.assertNotIn("Allocators hold", self.held(seen.recording))

    HOLDS_40_MIB = r"""
        #include <stdlib.h>
        void *F(malloc)(size_t), F(free)(void *);
        int main(void) {
            double end = now() + 2.5;
            for (int i = 0; i < 40; i++) {
                volatile char *a = F(malloc)(1 << 20);
                for (int k = 0; k < 1 << 20; k += 4096) a[k] = 1;
            }
            while (now() < end) F(free)(F(malloc)(50));
            return 9;
        }
    """

    def test_tcmalloc_and_mimalloc(self):
        for name, argv, in_blocks in (
                ("tcmalloc", ["-DF(x)=x", library("libtcmalloc_minimal.a")], ", 4[01].\\d MiB of it in blocks"),
                ("tcmalloc", ["-DF(x)=x", "-ltcmalloc_minimal"], ", 4[01].\\d MiB of it in blocks"),
                ("mimalloc", ["-DF(x)=mi_##x", "-lmimalloc"], "")):
            with self.subTest(argv=argv):
                program = self.program("holds_40", self.HOLDS_40_MIB, *argv)
                seen = self.record([program])
                self.assertEqual(9, seen.code)
                self.assertRegex(self.held(seen.recording),
                                 rf"[4-9]\d.\d MiB from the system{in_blocks} \({name}, last sample\)")

    def assert_ends_as_bare(self, program):
        """And the allocator was asked nevertheless, where that was safe."""
        expected = self.bare([program])
        self.assertEqual(9, expected.code)
        seen = self.record([program], timeout=30)
        self.assert_same_behaviour(seen, expected)
        self.assertIn("(jemalloc, last sample)", self.held(seen.recording))

    def test_handler_of_fork_that_runs_after_the_allocators(self):
        """It runs with the locks of the allocator held: a question would wait for ever."""
        program = self.program("forks", r"""
            #include <pthread.h>
            #include <stdlib.h>
            #include <sys/wait.h>
            #include <unistd.h>
            void *_rjem_malloc(size_t), _rjem_free(void *);
            static volatile int is_slow;
            static void prepare(void) {
                for (double end = now() + (is_slow ? 2.2 : 0); now() < end;)
                    _rjem_free(_rjem_malloc(50));
            }
            static void before_all(void) { pthread_atfork(prepare, 0, 0); }
            __attribute__((section(".preinit_array"), used)) static void (*first)(void) = before_all;
            int main(void) {
                for (double end = now() + 1.3; now() < end;) _rjem_free(_rjem_malloc(50));
                is_slow = 1;
                pid_t child = fork();
                if (child == 0) _exit(3);
                int status = 0;
                waitpid(child, &status, 0);
                return WEXITSTATUS(status) + 6;
            }
        """, self.prefixed_jemalloc())
        self.assert_ends_as_bare(program)

    def test_signal_while_the_program_asks_itself(self):
        """The handler interrupts mallctl(), which holds a lock: a question would wait for ever."""
        program = self.program("signals", r"""
            #include <signal.h>
            #include <stdint.h>
            #include <stdlib.h>
            #include <sys/time.h>
            void *_rjem_malloc(size_t), _rjem_free(void *);
            int _rjem_mallctl(const char *, void *, size_t *, void *, size_t);
            static void on_signal(int n) { (void)n; _rjem_free(_rjem_malloc(50)); }
            int main(void) {
                double start = now();
                uint64_t epoch = 1;
                struct itimerval each = {{0, 700}, {0, 700}};
                for (int i = 0; i < 100; i++) _rjem_free(_rjem_malloc(50));
                signal(SIGALRM, on_signal);
                setitimer(ITIMER_REAL, &each, 0);
                while (now() < start + 3) _rjem_mallctl("epoch", 0, 0, &epoch, sizeof(epoch));
                each.it_value.tv_usec = 0;
                setitimer(ITIMER_REAL, &each, 0);
                while (now() < start + 4.5) _rjem_free(_rjem_malloc(50));
                return 9;
            }
        """, self.prefixed_jemalloc())
        self.assert_ends_as_bare(program)


if __name__ == "__main__":
    mp.main()
