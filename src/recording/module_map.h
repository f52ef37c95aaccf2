/* recording/module_map.h - which loaded image an address belonged to, at a generation of loaded code.
 *
 * An image that is listed more than once with the same place, path and build id is one module.
 */
#ifndef RECORDING_MODULE_MAP_H
#define RECORDING_MODULE_MAP_H

#include "recording/metadata.h"

#define MODULE_MAP_NONE UINT32_MAX

struct module_map; /* opaque: defined in module_map.c */

/* metadata are borrowed; modules added to them later are not seen. */
int module_map_create(const struct metadata *metadata, struct module_map **ret, struct err *err);
void module_map_destroy(struct module_map *m); /* NULL does nothing */

/* Index in metadata.module of the image that held addr - 1: the one with the newest generation that
 * is not after the given one. MODULE_MAP_NONE when there is none. Of equal images always the
 * same one. */
uint32_t module_map_find(struct module_map *m, uint64_t addr, uint32_t generation);

/* Are they one module? */
bool module_map_is_same(const struct metadata_module *a, const struct metadata_module *b);

/* Different images. */
size_t module_map_count(const struct module_map *m);

#endif
