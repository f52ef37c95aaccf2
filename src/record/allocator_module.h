/* record/allocator_module.h - the allocators in one module: found, judged, hooked.
 *
 * allocators.h has the rules.
 */
#ifndef RECORD_ALLOCATOR_MODULE_H
#define RECORD_ALLOCATOR_MODULE_H

#include <link.h>

#include "record/allocator_table.h"
#include "record/redirect.h"

#define ALLOCATOR_MODULE_VERDICTS ALLOCATOR_MAX_FAMILIES

/* What became of a family, or of several families that are one. */
struct allocator_verdict {
	unsigned family; /* the first of them */
	uint32_t families; /* bit for each */
	const char *name; /* of the allocator, for people */
	const char *prefix;
	unsigned n_functions; /* of all of them, that were redirected */
	uint32_t number; /* allocator_numbers.h */
	const char *why; /* NULL: they are recorded; otherwise why not */
	char function[64]; /* that could not be redirected, or "" */
};

/* Looks for allocators in the module, whose file is at path, and hooks them. Stubs go to *area,
 * which must live as long as the module; the area stays empty if there is nothing to hook. Writes
 * the number of verdicts to *ret_n. NULL: the module was looked at; otherwise why not, and *ret_n is
 * 0. No thread may execute the module meanwhile. */
const char *allocator_module_hook(const char *path, const struct link_map *map,
				  struct redirect_area *area, unsigned *ret_n,
				  struct allocator_verdict verdict[ALLOCATOR_MODULE_VERDICTS]);

#endif
