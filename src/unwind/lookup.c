/* unwind/lookup.c - everything that is known about the code at a frame's key. */
#include "unwind/lookup_i.h"
#include "unwind/unwind_thread_i.h"

#include <string.h>

static uintptr_t context_return;

static void context_entry(void)
{
}

/* A function started by makecontext() returns to a stub inside libc. The stub has no symbol and, in
 * the glibc versions in use, no call-frame information that says it is the end. makecontext() puts
 * its address on the new stack, so we let makecontext() make a context and look there. */
static void find_context_return(void)
{
	static ucontext_t uc;
	static uintptr_t stack[256];

	if (context_return || getcontext(&uc) != 0)
		return;
	uc.uc_stack.ss_sp = stack;
	uc.uc_stack.ss_size = sizeof(stack);
	uc.uc_link = NULL;
	makecontext(&uc, context_entry, 0);
	context_return = arch_context_return(&uc);
}

void lookup_init(void)
{
	find_context_return();
}

uintptr_t lookup_context_return(void)
{
	return context_return;
}

static enum lookup find_registered(struct unwind_thread *ut, uintptr_t pc, enum lookup otherwise)
{
	switch (registered_find(&ut->copy, pc, &ut->fde)) {
	case EH_FOUND:
		return LOOKUP_FDE;
	case EH_BAD:
		return LOOKUP_BAD;
	default:
		return otherwise;
	}
}

enum lookup lookup_find(struct unwind_thread *ut, uintptr_t key, bool is_careful)
{
	uintptr_t pc = key - 1;
	struct image *im = modules_get(ut, pc, is_careful);
	const struct image_segment *s;
	struct eh_reader r;
	enum eh_result found = EH_NONE;

	ut->image = im;
	if (!im)
		return find_registered(ut, pc, LOOKUP_NO_IMAGE);
	r = (struct eh_reader){im->segment, im->n_segments, NULL};
	if ((is_careful && !im->is_permanent) || !im->n_segments) {
		r.copy = &ut->copy;
		r.copy->search = (struct memory_range){0, 0};
	}
	if (im->map.hdr)
		found = eh_frame_find(&r, im->map.hdr, pc, &ut->fde);
	if (found == EH_FOUND)
		return LOOKUP_FDE;
	if (found == EH_BAD)
		return LOOKUP_BAD;
	s = image_segment_at(im, pc);
	if (im->n_segments && (!s || !s->is_executable))
		return LOOKUP_NOT_CODE;
	return find_registered(ut, pc, LOOKUP_NO_FDE);
}

bool lookup_any_code(struct unwind_thread *ut, uintptr_t addr, size_t n, uint8_t *ret)
{
	if (!main_program_has_code(addr, n))
		return memory_code(&ut->memory, addr, n, ut->generation, ret);
	memcpy(ret, (const void *)addr, n);
	return true;
}

/* Copies n bytes of code at addr, of ut->image by plain loads if possible. False when they cannot be
 * read. */
static bool read_code_of_image(struct unwind_thread *ut, uintptr_t addr, size_t n, uint8_t *ret)
{
	const struct image_segment *s = ut->image ? image_segment_at(ut->image, addr) : NULL;

	if (!s || !s->is_readable || n > s->at.hi - addr ||
	    (ut->is_uncertain && !ut->image->is_permanent))
		return lookup_any_code(ut, addr, n, ret);
	memcpy(ret, (const void *)addr, n);
	return true;
}

typedef bool (*read_code)(struct unwind_thread *ut, uintptr_t addr, size_t n, uint8_t *ret);

/* Reads the ARCH_CALL_MAX_BYTES in front of key. The first function of a JIT compiler's memory may
 * make its first call right at the beginning of a page, with no page in front. Bytes that cannot be
 * read then become zeros, which are no part of any call. */
static bool read_before(struct unwind_thread *ut, uintptr_t key, read_code read, uint8_t *ret)
{
	const size_t n = ARCH_CALL_MAX_BYTES;
	size_t n_in_page = key % PAGE_BYTES;

	if (key < n)
		return false;
	if (read(ut, key - n, n, ret))
		return true;
	if (n_in_page == 0 || n_in_page >= n)
		return false;
	memset(ret, 0, n - n_in_page);
	return read(ut, key - n_in_page, n_in_page, ret + n - n_in_page);
}

bool lookup_any_call(struct unwind_thread *ut, uintptr_t key, uint8_t *ret)
{
	return read_before(ut, key, lookup_any_code, ret) && arch_is_after_call(ret);
}

bool lookup_is_after_call(struct unwind_thread *ut, uintptr_t key)
{
	uint8_t before[ARCH_CALL_MAX_BYTES];

	if (!read_before(ut, key, read_code_of_image, before))
		return key >= sizeof(before) && ut->image; /* code that may be run but not read */
	return arch_is_after_call(before);
}
