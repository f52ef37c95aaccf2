/* record/allocator_findings.c - see allocator_findings.h. */
#include "record/allocator_findings.h"

#include <stdatomic.h>
#include <string.h>

#include "record/allocator_table.h"

#define FINDING_BYTES 512u
#define PATH_BYTES 256u /* of a path in a finding, at most */

static struct {
	char text[FINDING_BYTES];
	enum log_level level;
} findings[ALLOCATOR_FINDINGS_MAX];
static _Atomic unsigned n_findings;
static _Atomic bool is_complete;
static _Atomic uint32_t recorded_families; /* bit for each family */

bool allocator_findings_begin(struct text *ret)
{
	unsigned i = atomic_load(&n_findings);

	if (i == ALLOCATOR_FINDINGS_MAX)
		return false;
	*ret = text_make(findings[i].text, FINDING_BYTES);
	return true;
}

void allocator_findings_put_path(struct text *text, const char *path)
{
	size_t n = strlen(path);

	if (n > PATH_BYTES) {
		text_put(text, "...");
		path += n - PATH_BYTES;
	}
	text_put(text, path);
}

void allocator_findings_end(enum log_level level)
{
	unsigned i = atomic_load(&n_findings);

	for (unsigned k = 0; k < i; k++) {
		if (!strcmp(findings[k].text, findings[i].text))
			return; /* a library that was loaded again */
	}
	if (i == ALLOCATOR_FINDINGS_MAX - 1) {
		struct text text = text_make(findings[i].text, FINDING_BYTES);

		text_put(&text, "there is more to say about allocators than fits; the rest is left "
				"out");
		level = LOG_WARN;
	}
	findings[i].level = level;
	atomic_store_explicit(&n_findings, i + 1, memory_order_release);
}

void allocator_findings_add_families(uint32_t families)
{
	atomic_fetch_or(&recorded_families, families);
}

void allocator_findings_complete(void)
{
	atomic_store(&is_complete, true);
}

bool allocator_findings_are_complete(void)
{
	return atomic_load(&is_complete);
}

const char *allocator_findings_get(unsigned i, enum log_level *ret_level)
{
	if (i >= atomic_load_explicit(&n_findings, memory_order_acquire))
		return NULL;
	*ret_level = findings[i].level;
	return findings[i].text;
}

bool allocator_findings_has(const char *name)
{
	const struct allocator_family *family;
	uint32_t recorded = atomic_load(&recorded_families);

	for (unsigned i = 0; (family = allocator_table_family(i)); i++) {
		if ((recorded >> i & 1) && !strcmp(family->name, name))
			return true;
	}
	return false;
}

bool allocator_findings_has_prefix(const char *prefix)
{
	const struct allocator_family *family;
	uint32_t recorded = atomic_load(&recorded_families);

	for (unsigned i = 0; (family = allocator_table_family(i)); i++) {
		if ((recorded >> i & 1) && !strcmp(family->prefix, prefix))
			return true;
	}
	return false;
}
