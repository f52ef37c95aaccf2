/* record/allocator_module.h - finds the allocators in one module (the program or a library), decides
 * whether each can be recorded, and hooks its functions.
 *
 * allocator_table.h names the functions of each family (jemalloc with the prefix je_, mimalloc with
 * mi_ ...); allocators.h has the rules. Families of a module that share a function are one
 * allocator: a module where tc_malloc is another name of malloc has one, of two families.
 */
#ifndef RECORD_ALLOCATOR_MODULE_H
#define RECORD_ALLOCATOR_MODULE_H

#include <link.h>

#include "record/allocator_table.h"
#include "record/redirect.h"

#define ALLOCATOR_MODULE_VERDICTS ALLOCATOR_MAX_FAMILIES

/* What became of one allocator of the module. All texts but function[] are constants. */
struct allocator_verdict {
	unsigned family; /* number of its first family */
	uint32_t families; /* a bit for each of its families */
	const char *name; /* of the allocator, for people */
	const char *prefix; /* of its functions */
	unsigned n_functions; /* that were redirected */
	struct allocator_layer *layer; /* may pass its calls on to another allocator; or NULL */
	uint32_t number; /* of the allocator in events: allocator_numbers.h */
	const char *why; /* NULL: its calls are recorded; otherwise why not */
	char function[64]; /* the function that could not be redirected, or "" */
};

/* Looks for allocators in the module, whose file is at path, and hooks them. Stubs go to *area,
 * which must live as long as the module; the area stays empty if there is nothing to hook. Writes
 * the number of verdicts to *ret_n. NULL: the module was looked at, and *ret_n may be 0; otherwise
 * why the file cannot be read (a constant), and *ret_n is 0. No thread may execute the module
 * meanwhile (redirect.h). */
const char *allocator_module_hook(const char *path, const struct link_map *map,
				  struct redirect_area *area, unsigned *ret_n,
				  struct allocator_verdict verdict[ALLOCATOR_MODULE_VERDICTS]);

#endif
