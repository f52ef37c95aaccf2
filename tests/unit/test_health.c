/* What is said of the health of a recording. */
#include "harness/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/health.h"
#include "report_synth.h"

#define RUN_NS (10 * NS_PER_S)
#define STACK(s, ...) synth_stack((s), (const char *[]){__VA_ARGS__, NULL})

static struct synth synth;
static struct health health;

static void begin(void)
{
	synth_init(&synth, RUN_NS);
	synth.facts.is_complete = 1;
}

static void ask(void)
{
	struct err err = {0};

	synth_open(&synth);
	CHECK_OK(health_make(synth.store, synth.frames, NULL, &health, &err));
}

static void end(void)
{
	health_fini(&health);
	synth_fini(&synth);
}

/* The nth line about something, or NULL. */
static const struct health_line *line(enum health_about about, size_t nth)
{
	for (size_t i = 0; i < health.n_lines; i++) {
		if (health.line[i].about == about && nth-- == 0)
			return &health.line[i];
	}
	return NULL;
}

static const char *fact(const char *name)
{
	for (size_t i = 0; i < health.n_facts; i++) {
		if (strcmp(health.fact[i].name, name) == 0)
			return health.fact[i].value;
	}
	return NULL;
}

static bool says(const struct health_line *l, const char *words)
{
	return l && strstr(l->detail, words);
}

TEST(sound_recording_is_well)
{
	begin();
	synth.facts.n_events = 1234;
	synth_keep(&synth, STACK(&synth, "work", "main"), 1, 100);
	ask();
	for (size_t i = 0; i < health.n_lines; i++)
		CHECK_EQ(health.line[i].state, HEALTH_OK);
	CHECK_STR_EQ(line(HEALTH_END, 0)->title, "Complete");
	CHECK_STR_EQ(line(HEALTH_EVENTS, 0)->title, "No event lost");
	CHECK_STR_EQ(line(HEALTH_EVENTS, 0)->detail, "1 234 events read");
	CHECK_STR_EQ(line(HEALTH_STACKS, 0)->title, "All stacks complete");
	CHECK_STR_EQ(line(HEALTH_NAMES, 0)->title, "All frames have names");
	CHECK_NULL(line(HEALTH_RECORDER, 0)); /* its cost is not known: no line */
	CHECK_NULL(line(HEALTH_DAMAGE, 0));
	CHECK_STR_EQ(health_state_name(HEALTH_OK), "ok");
	end();
}

/* The first line for a way in which the program ended. */
static void check_end(const char *ended, bool is_growing, enum health_state state,
		      const char *title, const char *words)
{
	begin();
	synth.ended = ended;
	synth.is_growing = is_growing;
	synth.facts.end_status = 3;
	ask();
	CHECK_EQ(line(HEALTH_END, 0)->state, state);
	CHECK_STR_EQ(line(HEALTH_END, 0)->title, title);
	CHECK(says(line(HEALTH_END, 0), words));
	CHECK_PTR_EQ(line(HEALTH_END, 0), &health.line[0]);
	end();
}

/* The limit of the control group and the machine's memory, and what was in use at the end. */
static void check_broken_off(uint64_t limit, uint64_t rss, const char *title, const char *words)
{
	const struct store_sample sample[] = {{.at_ns = 1, .rss_bytes = 2 * limit},
					      {.at_ns = 2, .rss_bytes = rss}};

	begin();
	synth.ended = "killed or still running";
	synth.sample = sample;
	synth.n_samples = ARRAY_LEN(sample);
	synth.facts.memory_limit_bytes = limit;
	synth.facts.memory_bytes = 1024 * MIB;
	synth.facts.live_bytes = 200 * MIB;
	ask();
	CHECK_STR_EQ(line(HEALTH_END, 0)->title, title);
	CHECK(says(line(HEALTH_END, 0), words));
	CHECK_EQ(health_is_out_of_memory(synth.store), strncmp(title, "Killed", 6) == 0);
	end();
}

TEST(recording_that_broke_off_when_memory_was_used_up_says_so)
{
	static const char title[] = "Killed, most likely out of memory";

	check_broken_off(300 * MIB, 290 * MIB, title,
			 "290 MiB of the 300 MiB that its control group may use");
	check_broken_off(210 * MIB, MIB, title, "200 MiB of the 210 MiB"); /* the heap tells */
	check_broken_off(0, 1000 * MIB, title, "1000 MiB of the 1.00 GiB that the machine has");
	check_broken_off(300 * MIB, 260 * MIB, "The recording has no end", "killed or crashed");
}

TEST(line_says_how_the_program_ended)
{
	check_end("exit", false, HEALTH_OK, "Complete", "ended by exit()");
	check_end("_exit", false, HEALTH_OK, "Complete", "ended by _exit(), status 3");
	check_end("exec", false, HEALTH_OK, "Complete", "another program");
	check_end("killed or still running", true, HEALTH_WARN, "Still running", "no end yet");
	check_end("killed or still running", false, HEALTH_WARN, "The recording has no end",
		  "killed or crashed");
	check_end("recording ended before the program", false, HEALTH_BAD,
		  "The recording ended too early", "stopped before the program ended");
}

TEST(recorder_that_gave_up_says_why)
{
	begin();
	synth.ended = "recording ended before the program";
	synth.note[synth.n_notes++] = "recorder: the program forbids itself system calls";
	ask();
	CHECK(says(line(HEALTH_END, 0), "the program forbids itself system calls"));
	CHECK(says(line(HEALTH_NOTE, 0), "the program forbids itself system calls"));
	end();
}

TEST(lost_events_come_with_the_reason)
{
	begin();
	synth.facts.lost_events = 1204;
	synth.facts.write_errno = ENOSPC;
	ask();
	CHECK_EQ(line(HEALTH_EVENTS, 0)->state, HEALTH_BAD);
	CHECK_STR_EQ(line(HEALTH_EVENTS, 0)->title, "1 204 events lost");
	CHECK(says(line(HEALTH_EVENTS, 0), "could not write: No space left on device"));
	CHECK_NULL(line(HEALTH_EVENTS, 1));
	end();
	begin();
	synth.facts.lost_blocks = 1;
	synth.facts.damaged_bytes = 4711;
	ask();
	CHECK_STR_EQ(line(HEALTH_EVENTS, 0)->title, "1 block of events missing");
	CHECK(!says(line(HEALTH_EVENTS, 0), "could not write"));
	CHECK_STR_EQ(line(HEALTH_DAMAGE, 0)->title,
		     "4 711 bytes of the file are damaged or missing");
	CHECK_EQ(line(HEALTH_DAMAGE, 0)->state, HEALTH_BAD);
	end();
}

TEST(frees_that_do_not_fit_are_counted)
{
	begin();
	synth.facts.unknown_frees = 1;
	synth.facts.untracked_frees = 2;
	synth.facts.duplicate_allocations = 3;
	ask();
	CHECK_STR_EQ(line(HEALTH_FREES, 0)->title, "1 free of unknown blocks");
	CHECK_STR_EQ(line(HEALTH_FREES, 1)->title, "3 frees missing");
	CHECK_STR_EQ(line(HEALTH_FREES, 2)->title, "2 frees of earlier blocks");
	end();
}

TEST(cut_stacks_come_with_reasons_and_modules)
{
	uint32_t whole, in_library, in_program;

	begin();
	whole = STACK(&synth, "work", "main");
	in_library = STACK(&synth, "work", "lib:callback");
	in_program = STACK(&synth, "?");
	for (uint64_t i = 0; i < 90; i++)
		synth_add(&synth, whole, i, i + 1, 8);
	synth.n_frees[whole] = 100;
	synth.stack_end[in_library] = 1;
	for (uint64_t i = 0; i < 3; i++)
		synth_add(&synth, in_library, i, i + 1, 8);
	synth.n_frees[in_library] = 4;
	synth.stack_end[in_program] = 3;
	synth.n_frees[in_program] = 3;
	ask();
	CHECK_EQ(line(HEALTH_STACKS, 0)->state, HEALTH_WARN);
	CHECK_STR_EQ(line(HEALTH_STACKS, 0)->title, "5.0 % of stacks cut"); /* 10 of 200 */
	CHECK_STR_EQ(line(HEALTH_STACKS, 0)->detail,
		     "the outermost callers of 10 calls are not known; "
		     "7: code without unwind information, in libother.so.1; "
		     "3: memory that could not be read, in server");
	end();
}

TEST(many_cut_stacks_are_bad)
{
	begin();
	synth.stack_end[1] = 7;
	synth_keep(&synth, STACK(&synth, "work"), 1, 1);
	ask();
	CHECK_EQ(line(HEALTH_STACKS, 0)->state, HEALTH_BAD);
	CHECK_STR_EQ(line(HEALTH_STACKS, 0)->title, "100 % of stacks cut");
	end();
}

TEST(frames_without_names_are_counted_in_stacks_that_allocate)
{
	begin();
	synth_keep(&synth, STACK(&synth, "?", "main", "lib:loop"), 1, 1);
	synth.n_frees[STACK(&synth, "?2", "?3", "main")] = 5; /* allocates nothing */
	ask();
	CHECK_EQ(line(HEALTH_NAMES, 0)->state, HEALTH_WARN);
	CHECK_STR_EQ(line(HEALTH_NAMES, 0)->title, "66.7 % of frames have names");
	CHECK(says(line(HEALTH_NAMES, 0), "1 of 2 code addresses in server (build-id "
					  "0123456789ab...) have no name"));
	end();
}

TEST(python_without_its_help_names_no_functions_of_scripts)
{
	begin();
	synth.library = "/opt/py/lib/libpython3.12.so.1.0";
	synth_keep(&synth, STACK(&synth, "lib:list_resize", "lib:Py_RunMain", "main"), 1, 1);
	ask();
	CHECK_EQ(line(HEALTH_NAMES, 0)->state, HEALTH_OK);
	CHECK(says(line(HEALTH_NAMES, 0), "Python functions are not in stacks"));
	end();
	begin();
	synth.library = "/opt/py/lib/libpython3.12.so.1.0";
	synth_keep(&synth, STACK(&synth, "lib:list_resize", "py::handle:/srv/app.py", "main"), 1,
		   1);
	ask();
	CHECK(!says(line(HEALTH_NAMES, 0), "Python functions"));
	end();
}

TEST(program_without_symbols_is_named)
{
	begin();
	synth_keep(&synth, STACK(&synth, "?", "?2", "lib:a", "lib:b", "lib:c"), 1, 1);
	ask();
	CHECK(says(line(HEALTH_NAMES, 0), "there are no symbols for server"));
	CHECK(!says(line(HEALTH_NAMES, 0), "libother"));
	end();
}

TEST(cost_of_the_recorder_is_shown_where_it_is_known)
{
	const struct store_sample sample = {.at_ns = 1, .cpu_ns = 4 * NS_PER_S};

	begin();
	synth.facts.writer_cpu_ns = NS_PER_S / 10;
	synth.facts.recorder_bytes = 5 * MIB;
	synth.sample = &sample;
	synth.n_samples = 1;
	ask();
	CHECK_STR_EQ(line(HEALTH_RECORDER, 0)->title, "Recorder's writer: 100 ms of CPU time");
	CHECK(says(line(HEALTH_RECORDER, 0), "2.5 % of what the program used, 4.00 s"));
	CHECK(says(line(HEALTH_RECORDER, 0), "5.00 MiB reserved"));
	end();
	begin();
	synth.facts.writer_cpu_ns = NS_PER_S / 10; /* the program's is not known */
	ask();
	CHECK_STR_EQ(line(HEALTH_RECORDER, 0)->title, "Recorder's writer: 100 ms of CPU time");
	CHECK(!says(line(HEALTH_RECORDER, 0), "what the program used"));
	end();
}

TEST(facts_have_limits_that_were_set)
{
	begin();
	synth.facts.pid = 41822;
	synth.facts.n_cpus = 4;
	synth.facts.memory_bytes = GIB;
	synth.facts.start_realtime_ns = 1700000000000000000;
	synth.limits =
		"Limit                     Soft Limit           Hard Limit           Units\n"
		"Max data size             unlimited            unlimited            bytes\n"
		"Max address space         1073741824           unlimited            bytes\n";
	synth.cgroup = "9:name=systemd:/\n4:memory:/box/7\n0::/\n";
	ask();
	CHECK_STR_EQ(fact("Process"), "pid 41822, 1 thread");
	CHECK_STR_EQ(fact("Limit"), "1.00 GiB of address space (ulimit -v)");
	CHECK_STR_EQ(fact("Cgroup"), "/box/7");
	CHECK_STR_EQ(fact("Started"), "2023-11-14 22:13:20 UTC, ran 10.0 s");
	CHECK_STR_EQ(fact("Machine"), "4 CPUs, 1.00 GiB of memory");
	CHECK_NULL(fact("Command"));
	end();
	begin();
	synth.limits =
		"Max address space         unlimited            unlimited            bytes\n";
	synth.cgroup = "0::/\n";
	ask();
	CHECK_NULL(fact("Limit"));
	CHECK_NULL(fact("Cgroup"));
	end();
}

TEST(notes_are_not_more_than_fit)
{
	begin();
	for (size_t i = 0; i < SYNTH_MAX_NOTES; i++)
		synth.note[synth.n_notes++] = "recorder: something";
	synth.facts.unknown_frees = synth.facts.untracked_frees = 1;
	synth.facts.lost_events = synth.facts.lost_blocks = synth.facts.damaged_bytes = 1;
	ask();
	CHECK(health.n_lines <= HEALTH_MAX_LINES);
	CHECK_NOT_NULL(line(HEALTH_NOTE, SYNTH_MAX_NOTES - 1));
	end();
}
