/* format/format.h - constants of the recording format; docs/FORMAT.md is the specification. */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include "base/units.h"

#define FORMAT_VERSION_MAJOR 4
#define FORMAT_VERSION_MINOR 2
#define FORMAT_FEATURES_KNOWN 0ull /* features_required bits this code understands */

#define FORMAT_HEADER_BYTES 4096
#define FORMAT_BLOCK_BYTES 65536
#define FORMAT_CHUNK_ALIGN 8
#define FORMAT_CHUNK_MAX_BYTES (16 * MIB) /* stored and raw, of all but AREA and PAD */

/* File header flags. */
#define FORMAT_LATE_START 1u
#define FORMAT_CULLED 2u

enum format_clock {
	FORMAT_CLOCK_CPU = 1,
	FORMAT_CLOCK_MONOTONIC = 2,
};

enum format_state {
	FORMAT_STATE_RECORDING = 1,
	FORMAT_STATE_ENDED = 2,
	FORMAT_STATE_GAVE_UP = 3,
};

enum format_chunk_type {
	CHUNK_PAD = 1,
	CHUNK_AREA = 2,
	CHUNK_EVENTS = 3,
	CHUNK_PROCESS = 4,
	CHUNK_MODULE = 5,
	CHUNK_FILE = 6,
	CHUNK_FILE_DATA = 7,
	CHUNK_THREAD = 8,
	CHUNK_SAMPLE = 9,
	CHUNK_MAPS = 10,
	CHUNK_NOTE = 11,
	CHUNK_END = 12,
	CHUNK_DROPPED = 13,
	CHUNK_SYMBOLS = 14,
	CHUNK_ALLOCATOR = 15,
	CHUNK_ALLOCATOR_SAMPLE = 16,
	CHUNK_PENDING = 17,
};

#define CHUNK_FLAG_LZ4 1u
#define CHUNK_FLAG_UNCHECKED 2u

/* Tags of the fields in each chunk that is made of fields. */
enum format_process_tag {
	PROCESS_PID = 1,
	PROCESS_PPID,
	PROCESS_UID,
	PROCESS_GID,
	PROCESS_EXECUTABLE,
	PROCESS_CMDLINE,
	PROCESS_ENVIRONMENT,
	PROCESS_CWD,
	PROCESS_HOST,
	PROCESS_KERNEL,
	PROCESS_ARCH,
	PROCESS_PAGE_BYTES,
	PROCESS_N_CPUS,
	PROCESS_CGROUP,
	PROCESS_LIMITS,
	PROCESS_RECORDER,
	PROCESS_PARENT,
	PROCESS_MEMORY_BYTES,
	PROCESS_MEMORY_LIMIT_BYTES, /* of the control group; absent: none */
};

enum format_module_tag {
	MODULE_ID = 1,
	MODULE_PATH,
	MODULE_BASE,
	MODULE_START,
	MODULE_END,
	MODULE_BUILD_ID,
	MODULE_GENERATION,
	MODULE_TICKS,
	MODULE_FILE,
};

enum format_file_tag {
	FILE_ID = 1,
	FILE_PATH,
	FILE_SIZE,
	FILE_BUILD_ID,
	FILE_KIND,
	FILE_IS_BESIDE, /* 1: the contents are in a file of their own (shared_name.h) */
};

enum format_thread_tag {
	THREAD_NUMBER = 1,
	THREAD_TID,
	THREAD_NAME,
	THREAD_START,
	THREAD_END,
};

enum format_sample_tag {
	SAMPLE_TICKS = 1,
	SAMPLE_MONOTONIC_NS,
	SAMPLE_RSS_BYTES,
	SAMPLE_VIRTUAL_BYTES,
	SAMPLE_SHARED_BYTES,
	SAMPLE_CPU_NS,
	SAMPLE_PEAK_RSS_BYTES, /* since the start, as the kernel keeps it */
};

enum format_note_tag {
	NOTE_TICKS = 1,
	NOTE_LEVEL,
	NOTE_TEXT,
};

/* Begins the text of a note about memory that the recording lacks: "not recorded: WHAT: WHY". The
 * finding about it has WHAT in its title. */
#define NOTE_NOT_RECORDED "not recorded: "

enum format_allocator_tag {
	ALLOCATOR_NUMBER = 1,
	ALLOCATOR_NAME,
	ALLOCATOR_PREFIX,
	ALLOCATOR_MODULE,
	ALLOCATOR_N_FUNCTIONS,
};

/* In the order of enum allocator_stats_value, from ALLOCATED on. */
enum format_allocator_sample_tag {
	ALLOCATOR_SAMPLE_NUMBER = 1,
	ALLOCATOR_SAMPLE_TICKS,
	ALLOCATOR_SAMPLE_COST_NS,
	ALLOCATOR_SAMPLE_ALLOCATED,
	ALLOCATOR_SAMPLE_ACTIVE,
	ALLOCATOR_SAMPLE_METADATA,
	ALLOCATOR_SAMPLE_RESIDENT,
	ALLOCATOR_SAMPLE_MAPPED,
	ALLOCATOR_SAMPLE_RETAINED,
};

enum format_end_tag {
	END_TICKS = 1,
	END_HOW,
	END_STATUS,
};

/* How a process ended, as far as the recorder could see. */
enum format_end_how {
	END_BY_EXIT = 1,
	END_BY__EXIT = 2,
	END_BY_QUICK_EXIT = 3,
	END_BY_EXEC = 4,
	END_BY_SWITCH = 5, /* END chunks only: a new file goes on */
	/* END chunks only, written by the writer when the process was gone: */
	END_BY_DEATH = 6, /* killed, or ended past libc */
	END_BY_SIGNAL = 7, /* END_STATUS is its number */
	END_BY_EXIT_GROUP = 8, /* the system call; END_STATUS is the exit status */
};

/* Why a stack does not reach its outermost frame. */
enum format_stack_end {
	STACK_END_COMPLETE = 0,
	STACK_END_NO_INFO = 1,
	STACK_END_BAD_INFO = 2,
	STACK_END_BAD_MEMORY = 3,
	STACK_END_NOT_CODE = 4,
	STACK_END_NO_PROGRESS = 5,
	STACK_END_NO_ROOM = 6,
	STACK_END_LOST = 7, /* only in readers: the definition of the stack is lost */
	STACK_N_ENDS = 8,
};

/* Fields of a status slot, in order. */
enum format_status_field {
	STATUS_TICKS,
	STATUS_MONOTONIC_NS,
	STATUS_REALTIME_NS,
	STATUS_STATE,
	STATUS_END_OF_CHUNKS,
	STATUS_LOST_EVENTS,
	STATUS_LOST_BLOCKS,
	STATUS_LOST_CHUNKS,
	STATUS_FIRST_ERROR,
	STATUS_WRITER_CPU_NS,
	STATUS_RECORDER_BYTES,
	STATUS_N_WAITS,
	STATUS_N_THREADS,
	STATUS_N_BLOCKS,
	STATUS_BYTES_EMBEDDED,
	STATUS_N_WALKS,
	STATUS_N_SLOW_WALKS,
	STATUS_N_RULE_MISSES,
	STATUS_N_PATH_WALKS,
	STATUS_N_KNOWN_STACKS,
	STATUS_N_FRESH_FRAMES,
	STATUS_N_AUDITED,
	STATUS_N_DIFFERING,
	STATUS_N_ESTIMATED_TIMES,
	STATUS_LONGEST_HEARTBEAT_TICKS,
	STATUS_COMPLETE_TICKS,
	STATUS_N_FIELDS = 62,
};

#endif
