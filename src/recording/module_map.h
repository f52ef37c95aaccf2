/* recording/module_map.h - which loaded image held an address, at a generation of loaded code.
 *
 * The generation counts how often code was loaded or unloaded. An image that is listed more than
 * once with the same addresses, path and build id is one module. Threads: one (finding fills a
 * cache).
 */
#ifndef RECORDING_MODULE_MAP_H
#define RECORDING_MODULE_MAP_H

#include "recording/metadata.h"

#define MODULE_MAP_NONE UINT32_MAX

struct module_map; /* opaque: defined in module_map.c */

/* metadata is borrowed until module_map_destroy(); modules added to it later are not seen.
 * ERR_MEMORY. */
int module_map_create(const struct metadata *metadata, struct module_map **ret, struct err *err);
void module_map_destroy(struct module_map *m); /* NULL does nothing */

/* The index in metadata.module of the image that held addr - 1 (addr is a return address): of those
 * the one with the newest generation up to the given one. Of equal images always the same one.
 * MODULE_MAP_NONE when there is none. */
uint32_t module_map_find(struct module_map *m, uint64_t addr, uint32_t generation);

/* Are two entries one module? */
bool module_map_is_same(const struct metadata_module *a, const struct metadata_module *b);

/* The number of different images. */
size_t module_map_count(const struct module_map *m);

#endif
