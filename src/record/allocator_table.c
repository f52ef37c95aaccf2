/* record/allocator_table.c - see allocator_table.h. */
#include "record/allocator_table.h"

#include <string.h>

enum {
	SET_C = 1, /* the C library's functions */
	SET_X = 2, /* jemalloc's others */
	SET_CXX = 4, /* C++ operators */
	SET_TC = 8,
	SET_MI = 16,
	SET_SN = 32,
	SET_RP = 64,
	SET_MOZ = 128, /* Firefox's */
	SET_RUST = 256, /* the global allocator of a Rust program */
};

#define ALLOCATOR(...)
#define FUNCTION(set, function, what, ...)                                                         \
	{.name = function, .sets = (set), .event = ALLOCATOR_##what, ##__VA_ARGS__},
static const struct allocator_function functions[] = {
#include "record/allocators.def"
};
#undef ALLOCATOR
#undef FUNCTION

#define MAX_PREFIX_BYTES 64u
#define MAX_OWN_NAMES 64u

/* The plain family comes first (ALLOCATOR_FAMILY_PLAIN), then the others, then the user's. */
static struct allocator_family families[ALLOCATOR_MAX_FAMILIES] = {{.name = "malloc"}};
static unsigned n_families;
static char own_prefix[ALLOCATOR_MAX_FAMILIES][MAX_PREFIX_BYTES];

/* Names that the user gave one by one: together a family. */
static struct own_name {
	const char *name; /* in the list; not ended by a zero */
	size_t n_bytes;
	const struct allocator_function *function;
} own_names[MAX_OWN_NAMES];
static unsigned n_own_names;
static unsigned own_family;

#define RUST_BEGIN "_RNvCs" /* of names in the crate __rustc, since Rust 1.89 */

/* May a name that begins with these three bytes be one of ours? A bit for each hash: nearly all
 * names of a program end here. */
static uint64_t first_bytes[64];

static unsigned hash_first(const char *name)
{
	unsigned h = 0;

	for (unsigned i = 0; i < 3 && name[i]; i++)
		h = h * 61 + (uint8_t)name[i];
	return h % 4096;
}

bool allocator_table_may_begin(const char *name)
{
	unsigned h = hash_first(name);

	return first_bytes[h / 64] >> h % 64 & 1;
}

static void allow(const char *name)
{
	unsigned h = hash_first(name);

	first_bytes[h / 64] |= 1ull << h % 64;
}

/* All names of a family. A prefix may be shorter than three bytes. */
static void allow_family(const struct allocator_family *family)
{
	char begin[MAX_PREFIX_BYTES + 4];
	size_t n = strlen(family->prefix);

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		if (!(functions[i].sets & family->sets))
			continue;
		memcpy(begin, family->prefix, n);
		memset(begin + n, 0, 4);
		for (size_t k = 0; k < 3 && functions[i].name[k]; k++)
			begin[n + k] = functions[i].name[k];
		allow(begin);
	}
}

static void add_family(const char *name, const char *prefix, uint32_t sets)
{
	struct allocator_family *family;

	if (n_families == ALLOCATOR_MAX_FAMILIES)
		return;
	family = &families[*prefix ? n_families++ : ALLOCATOR_FAMILY_PLAIN];
	*family = (struct allocator_family){.name = name, .prefix = prefix, .sets = sets};
	allow_family(family);
}

static const struct allocator_function *find_function(const char *name, size_t n_bytes,
						      uint32_t sets)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		if ((functions[i].sets & sets) && strlen(functions[i].name) == n_bytes &&
		    !memcmp(functions[i].name, name, n_bytes))
			return &functions[i];
	}
	return NULL;
}

/* One entry of the user's list. */
static bool add_own(const char *entry, size_t n_bytes)
{
	const char *equals = memchr(entry, '=', n_bytes);
	const struct allocator_function *function;

	if (!equals) {
		if (n_bytes < 2 || n_bytes >= MAX_PREFIX_BYTES || entry[n_bytes - 1] != '*' ||
		    n_families == ALLOCATOR_MAX_FAMILIES)
			return false;
		memcpy(own_prefix[n_families], entry, n_bytes - 1);
		add_family("the user's allocator", own_prefix[n_families], SET_C | SET_X);
		return true;
	}
	function = find_function(equals + 1, n_bytes - (size_t)(equals + 1 - entry), SET_C | SET_X);
	if (!function || equals == entry || n_own_names == MAX_OWN_NAMES)
		return false;
	own_names[n_own_names++] = (struct own_name){
		.name = entry, .n_bytes = (size_t)(equals - entry), .function = function};
	allow(entry); /* of a name of two bytes the third is '=', which costs nothing */
	return true;
}

const char *allocator_table_init(const char *list)
{
	const char *bad = NULL;

	n_families = 1;
#define ALLOCATOR(name, prefix, sets) add_family(name, prefix, sets);
#define FUNCTION(...)
#include "record/allocators.def"
#undef ALLOCATOR
#undef FUNCTION
	allow(RUST_BEGIN);
	own_family = n_families;
	families[n_families++] =
		(struct allocator_family){.name = "the user's allocator", .prefix = ""};
	while (*list) {
		size_t n = strcspn(list, " ,");

		if (n && !add_own(list, n) && !bad)
			bad = list;
		list += n + (list[n] != 0);
	}
	return bad;
}

static const struct allocator_function *find_own(const char *name)
{
	for (unsigned i = 0; i < n_own_names; i++) {
		const struct own_name *own = &own_names[i];

		if (!strncmp(own->name, name, own->n_bytes) && !name[own->n_bytes])
			return own->function;
	}
	return NULL;
}

/* Behind the crate __rustc comes the length of the name, which begins with an underscore. */
const char *allocator_table_plain_name(const char *name)
{
	static const char crate[] = "_7___rustc";
	const char *at;

	if (strncmp(name, RUST_BEGIN, strlen(RUST_BEGIN)))
		return name;
	at = name + strlen(RUST_BEGIN);
	at += strcspn(at, "_");
	if (strncmp(at, crate, strlen(crate)))
		return name;
	at += strlen(crate);
	while (*at >= '0' && *at <= '9')
		at++;
	return *at == '_' ? at + 1 : name;
}

const struct allocator_function *allocator_table_find(const char *name, unsigned *ret_family)
{
	const struct allocator_function *function;

	if (likely(!allocator_table_may_begin(name)))
		return NULL;
	name = allocator_table_plain_name(name);
	function = find_own(name);
	if (function) {
		*ret_family = own_family;
		return function;
	}
	for (unsigned i = 0; i < n_families; i++) {
		size_t n = strlen(families[i].prefix);

		if (i == own_family || strncmp(name, families[i].prefix, n))
			continue;
		function = find_function(name + n, strlen(name + n), families[i].sets);
		if (function) {
			*ret_family = i;
			return function;
		}
	}
	return NULL;
}

const struct allocator_family *allocator_table_family(unsigned family)
{
	return family < n_families ? &families[family] : NULL;
}
