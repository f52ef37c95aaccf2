/* query/frame_class.c - see frame_class.h. */
#include "query/frame_class.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "query/frame_name.h"
#include "query/query_regex.h"

enum match {
	MATCH_EXACT,
	MATCH_PREFIX, /* of the name */
	MATCH_RUST, /* of the name, and only in code that comes from Rust: C++ has a core:: as well */
};

/* The first entry that fits decides. */
static const struct {
	const char *text;
	enum match match;
	enum frame_class class;
} by_name[] = {
	/* libc */
	{"malloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"calloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"realloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"reallocarray", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"posix_memalign", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"aligned_alloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"memalign", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"valloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"pvalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"free", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"cfree", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__libc_malloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__libc_calloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__libc_realloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__libc_free", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"strdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"strndup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"wcsdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__strdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__strndup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__GI___strdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"__GI___strndup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"_start", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"__libc_start_main", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"__libc_start_call_main", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"__libc_csu_init", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"start_thread", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"execute_native_thread_routine", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"clone", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"clone3", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	{"__clone", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"__GI___clone", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"call_init", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"_dl_", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"__run_exit_handlers", MATCH_EXACT, FRAME_CLASS_RUNTIME},
	/* C++ */
	{"operator new", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"operator delete", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"std::allocator", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"std::__new_allocator", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"std::__allocate_guarded", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__gnu_cxx::new_allocator", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__gnu_cxx::__alloc_traits", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__gnu_cxx::", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"__cxa_", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	{"__cxxabiv1::", MATCH_PREFIX, FRAME_CLASS_RUNTIME},
	/* Rust */
	{"__rust_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__rdl_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__rg_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__rustc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"alloc::alloc::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"alloc::raw_vec::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"core::alloc::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"std::alloc::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"std::sys::alloc::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"std::sys::unix::alloc::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"std::sys::pal::unix::alloc::", MATCH_RUST, FRAME_CLASS_ALLOCATOR},
	{"alloc::", MATCH_RUST, FRAME_CLASS_RUNTIME},
	{"core::", MATCH_RUST, FRAME_CLASS_RUNTIME},
	{"hashbrown::", MATCH_RUST, FRAME_CLASS_RUNTIME},
	{"test::", MATCH_RUST, FRAME_CLASS_RUNTIME},
	{"std::", MATCH_PREFIX, FRAME_CLASS_RUNTIME}, /* of C++ as well */
	/* wrappers of well-known programs and libraries; by_ending has the common forms */
	{"xmalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xcalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xrealloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xzalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xstrdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xstrndup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xmallocz", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"xmemdupz", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"zmalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"zcalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"zrealloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"zstrdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"zmalloc_usable", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"zcalloc_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"zrealloc_usable", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"ztrymalloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"ztrycalloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"ztryrealloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"emalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"ecalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"erealloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"estrdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"safemalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"saferealloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"do_xmalloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"ngx_alloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"palloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"repalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"apr_palloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"apr_pcalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"pg_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"MemoryContextAlloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"AllocSetAlloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"AllocSetRealloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"AcquireMagickMemory", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"AcquireQuantumMemory", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"av_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"av_realloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"luaM_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"l_alloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"_emalloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"_erealloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"__zend_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"ruby_xmalloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"tor_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"g_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"g_realloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"g_try_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"g_try_realloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"g_slice_alloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"g_strdup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"g_strndup", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"g_memdup", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"PyMem_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"_PyMem_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"PyObject_Malloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"PyObject_Calloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"PyObject_Realloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"_PyObject_Malloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"_PyObject_Calloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"_PyObject_Realloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"Perl_safesys", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"sqlite3Malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"sqlite3MemMalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"sqlite3MemRealloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"sqlite3Realloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"sqlite3_malloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"sqlite3_realloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"sqlite3DbMalloc", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
	{"CRYPTO_malloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"CRYPTO_zalloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"CRYPTO_realloc", MATCH_EXACT, FRAME_CLASS_ALLOCATOR},
	{"jv_mem_", MATCH_PREFIX, FRAME_CLASS_ALLOCATOR},
};

/* The end of the name of a C function that allocates for its callers: my_malloc, acme_strdup. */
static const char *const by_ending[] = {
	"_malloc", "_calloc", "_realloc", "_zalloc", "_memalign", "_mallocz", "_strdup", "_strndup",
};

/* A part of the source's path: inlined code of a library lies in the program's own image. */
static const struct {
	const char *text;
	enum frame_class class;
} by_source[] = {
	{"/include/c++/", FRAME_CLASS_RUNTIME},   {"/libstdc++-v3/", FRAME_CLASS_RUNTIME},
	{"/rustc/", FRAME_CLASS_RUNTIME},         {"/rustlib/src/rust/", FRAME_CLASS_RUNTIME},
	{"/usr/src/rustc-", FRAME_CLASS_RUNTIME}, {"/.cargo/registry/", FRAME_CLASS_LIBRARY},
	{"/registry/src/", FRAME_CLASS_LIBRARY}, /* another CARGO_HOME */
	{"/.cargo/git/", FRAME_CLASS_LIBRARY},    {"/git/checkouts/", FRAME_CLASS_LIBRARY},
};

/* Sources below these are not the program's; /usr/src is where containers have it. */
static const char *const foreign_folder[] = {"/usr/", "/nix/store/", "/gnu/store/"};
#define NEUTRAL_FOLDER "/usr/src/"

/* The end of a source's name: C and C++. Headers of the standard library have none, but their folder. */
static const char *const native_suffix[] = {
	".c",   ".cc",  ".cpp", ".cxx", ".c++", ".C",   ".h",   ".hh", ".hpp",
	".hxx", ".h++", ".H",   ".inl", ".ipp", ".tcc", ".tpp", ".S",  ".s",
};

/* The start of an image's file name. */
static const struct {
	const char *text;
	enum frame_class class;
	bool only_nameless; /* other frames of it are worth seeing: fopen, getline, qsort ... */
} by_image[] = {
	{"libmemory_profiler.so", FRAME_CLASS_ALLOCATOR, false},
	{"ld-linux", FRAME_CLASS_RUNTIME, false},
	{"ld-musl", FRAME_CLASS_RUNTIME, false},
	{"libstdc++.so", FRAME_CLASS_RUNTIME, false},
	{"libc++.so", FRAME_CLASS_RUNTIME, false},
	{"libc++abi.so", FRAME_CLASS_RUNTIME, false},
	{"libgcc_s.so", FRAME_CLASS_RUNTIME, false},
	{"libpthread", FRAME_CLASS_RUNTIME, false},
	{"libc.so", FRAME_CLASS_RUNTIME, true},
	{"libc-2.", FRAME_CLASS_RUNTIME, true},
	{"libjemalloc.so", FRAME_CLASS_ALLOCATOR, false},
	{"libtcmalloc", FRAME_CLASS_ALLOCATOR, false},
	{"libmimalloc", FRAME_CLASS_ALLOCATOR, false},
	{"[vdso]", FRAME_CLASS_RUNTIME, false},
	{"linux-vdso", FRAME_CLASS_RUNTIME, false},
};

/* Images below these were not built with the program, unless it is the program. */
static const char *const system_folder[] = {
	"/usr/", "/lib/",  "/lib32/", "/lib64/",     "/libx32/",
	"/bin/", "/sbin/", "/snap/",  "/nix/store/", "/gnu/store/",
};

/* The folder of Python's own extension modules. */
#define PYTHON_MODULES "/lib-dynload/"

static bool has_prefix(const char *text, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && memcmp(text, prefix, n) == 0;
}

/* "_R..." or the hash at the end of a legacy name; or the source. */
bool frame_class_is_rust(const struct frame *f)
{
	const char *raw = f->raw_function;
	size_t len = f->source ? strlen(f->source) : 0;

	if (len > 3 && strcmp(f->source + len - 3, ".rs") == 0)
		return true;
	if (!raw)
		return false;
	len = strlen(raw);
	return has_prefix(raw, len, "_R") ||
	       (has_prefix(raw, len, "_ZN") && len > 23 && memcmp(raw + len - 20, "17h", 3) == 0 &&
		raw[len - 1] == 'E');
}

struct frame_name_path frame_class_rust_path(const char *function)
{
	static const char *const word[] = {"mut ", "const ", "dyn ", "impl "};
	struct frame_name_path p = frame_name_path(function);
	const char *end = p.start + p.len;

	while (p.len > 0 && strchr("<&[(*", *p.start)) {
		const char *as, *colons;

		p.start++;
		for (size_t i = 0; i < ARRAY_LEN(word); i++) {
			if (has_prefix(p.start, (size_t)(end - p.start), word[i]))
				p.start += strlen(word[i]);
		}
		p.len = (size_t)(end - p.start);
		as = memmem(p.start, p.len, " as ", 4);
		colons = memmem(p.start, p.len, "::", 2);
		if (as && (!colons || colons > as))
			p.start = as + 4;
		p.len = (size_t)(end - p.start);
	}
	return p;
}

static bool is_wrapper(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(by_ending); i++) {
		size_t n = strlen(by_ending[i]);

		if (len > n && memcmp(name + len - n, by_ending[i], n) == 0 &&
		    !memchr(name, ':', len))
			return true;
	}
	return false;
}

struct frame_name_path frame_class_path(const struct frame *f)
{
	if (!f->function)
		return (struct frame_name_path){"", 0};
	return frame_class_is_rust(f) ? frame_class_rust_path(f->function)
				      : frame_name_path(f->function);
}

/* A method of a global allocator of the program's own, which passes the call on. Debug information of
 * inlined code has the bare name only. */
static bool is_global_allocator(const char *function)
{
	return function &&
	       (strcmp(function, "alloc") == 0 || strcmp(function, "alloc_zeroed") == 0 ||
		strcmp(function, "realloc") == 0 || strcmp(function, "dealloc") == 0 ||
		strstr(function, " as core::alloc::global::GlobalAlloc>::"));
}

static bool find_by_name(const struct frame *f, enum frame_class *ret)
{
	struct frame_name_path p = frame_class_path(f);
	bool rust = frame_class_is_rust(f);

	for (size_t i = 0; p.len && i < ARRAY_LEN(by_name); i++) {
		if (by_name[i].text[0] != p.start[0] ||
		    !has_prefix(p.start, p.len, by_name[i].text) ||
		    (by_name[i].match == MATCH_RUST && !rust) ||
		    (by_name[i].match == MATCH_EXACT && p.len != strlen(by_name[i].text)))
			continue;
		*ret = by_name[i].class;
		return true;
	}
	if (is_wrapper(p.start, p.len) || (rust && is_global_allocator(f->function))) {
		*ret = FRAME_CLASS_ALLOCATOR;
		return true;
	}
	return false;
}

static bool find_by_source(const struct frame *f, enum frame_class *ret)
{
	size_t len = f->source ? strlen(f->source) : 0;

	for (size_t i = 0; f->source && i < ARRAY_LEN(by_source); i++) {
		if (strstr(f->source, by_source[i].text)) {
			*ret = by_source[i].class;
			return true;
		}
	}
	if (!f->source || has_prefix(f->source, len, NEUTRAL_FOLDER))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(foreign_folder); i++) {
		if (has_prefix(f->source, len, foreign_folder[i])) {
			*ret = FRAME_CLASS_LIBRARY;
			return true;
		}
	}
	return false;
}

/* Does the image lie in the executable's folder, or below? */
static bool is_beside(const char *module, const char *executable)
{
	size_t len = (size_t)(text_basename(executable) - executable);

	return len > 0 && strncmp(module, executable, len) == 0;
}

/* python3, python3.12, libpython3.12.so.1.0 */
bool frame_class_is_python(const char *module)
{
	const char *name = text_basename(module);
	size_t len = strlen(name);

	if (has_prefix(name, len, "libpython"))
		return true;
	return has_prefix(name, len, "python") && strspn(name + 6, "0123456789.") == len - 6;
}

static enum frame_class find_by_image(const struct frame *f, const char *executable)
{
	const char *name;

	if (f->module && (frame_class_is_python(f->module) || strstr(f->module, PYTHON_MODULES)))
		return FRAME_CLASS_LIBRARY;
	if (!f->module || (executable && strcmp(f->module, executable) == 0))
		return FRAME_CLASS_OWN;
	name = text_basename(f->module);
	for (size_t i = 0; i < ARRAY_LEN(by_image); i++) {
		if (has_prefix(name, strlen(name), by_image[i].text) &&
		    (!by_image[i].only_nameless || !f->function))
			return by_image[i].class;
	}
	for (size_t i = 0; i < ARRAY_LEN(system_folder); i++) {
		if (has_prefix(f->module, strlen(f->module), system_folder[i]))
			return FRAME_CLASS_LIBRARY;
	}
	return f->source || !executable || is_beside(f->module, executable) ? FRAME_CLASS_OWN
									    : FRAME_CLASS_LIBRARY;
}

/* "runtime.mallocgc", "github.com/x/y.(*T).Method"; not "f.isra.0", "f.cold" or "f@@GLIBC_2.34". */
static bool is_go_or_d(const char *raw)
{
	static const char *const clone[] = {"isra",     "part", "cold",    "constprop",
					    "lto_priv", "llvm", "resolver"};
	const char *dot;

	if (raw[0] == '_' && raw[1] == 'D' && isdigit((unsigned char)raw[2]))
		return true;
	dot = memchr(raw, '.', strcspn(raw, "@"));
	if (!dot || dot == raw || raw[0] == '_' || isdigit((unsigned char)dot[1]))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(clone); i++) {
		if (has_prefix(dot + 1, strlen(dot + 1), clone[i]))
			return false;
	}
	return true;
}

/* Is the code of a library C or C++? The source tells, else the way its names are mangled. */
static bool is_native(const struct frame *f)
{
	const char *raw = f->raw_function;
	size_t len = f->source ? strlen(f->source) : 0;

	for (size_t i = 0; len && i < ARRAY_LEN(native_suffix); i++) {
		size_t n = strlen(native_suffix[i]);

		if (len > n && strcmp(f->source + len - n, native_suffix[i]) == 0)
			return true;
	}
	if (len)
		return !strchr(text_basename(f->source), '.') && strstr(f->source, "/include/");
	if (frame_class_is_rust(f) || (raw && is_go_or_d(raw)))
		return false;
	return f->module && strstr(text_basename(f->module), ".so");
}

static enum frame_class find_by_tables(const struct frame *f, const char *executable)
{
	enum frame_class class;

	if (!find_by_name(f, &class) && !find_by_source(f, &class))
		class = find_by_image(f, executable);
	return class == FRAME_CLASS_LIBRARY && is_native(f) ? FRAME_CLASS_NATIVE : class;
}

/* 1, 0; less than 0: it is not known, which is noted. */
static int matches_own(struct frame_rules *r, const char *text)
{
	struct err err = {0};
	int n = text ? query_regex_match(r->own, text, &err) : 0;

	if (n < 0 && !r->failure.code)
		r->failure = err;
	return n;
}

enum frame_class frame_class_by(struct frame_rules *r, const struct frame *f)
{
	enum frame_class class;

	if (r->own && (matches_own(r, f->source) > 0 ||
		       matches_own(r, f->function ? f->function : f->raw_function) > 0))
		return FRAME_CLASS_OWN;
	class = find_by_tables(f, r->executable);
	if (r->own && class == FRAME_CLASS_OWN)
		class = is_native(f) ? FRAME_CLASS_NATIVE : FRAME_CLASS_LIBRARY;
	return class;
}

enum frame_class frame_class_of(const struct frame *f, const char *executable)
{
	return find_by_tables(f, executable);
}

const char *frame_class_name(enum frame_class c)
{
	static const char *const name[FRAME_N_CLASSES] = {"own", "library", "native", "runtime",
							  "allocator"};

	return (unsigned)c < FRAME_N_CLASSES ? name[c] : "own";
}

/* ---- blame ---- */

/* main, x::main, cc1_main(llvm::ArrayRef<char const*>, ...) */
static bool is_main(const char *function)
{
	size_t len = strcspn(function, "(");

	if (len < 4 || memcmp(function + len - 4, "main", 4) != 0)
		return false;
	return len == 4 || function[len - 5] == '_' || function[len - 5] == ':';
}

bool frame_class_is_thin(const struct frame_rules *r, const struct frame *f)
{
	if (r->own || (f->source && *f->source) || !f->module)
		return false;
	return !f->function || is_main(f->function);
}

/* Of the frames seen so far, innermost first. */
struct blame {
	struct frame_rules *rules;
	const struct frame *frame; /* to blame */
	enum frame_class class;
};

static bool look_for_blame(void *user, const struct frame *frame)
{
	struct blame *b = user;
	enum frame_class class = frame_class_by(b->rules, frame);
	bool is_thin = class == FRAME_CLASS_OWN && frame_class_is_thin(b->rules, frame);

	if (!b->frame || !frame_class_takes_blame(b->class, class, is_thin)) {
		b->frame = frame;
		b->class = class;
	}
	return class != FRAME_CLASS_OWN;
}

const struct frame *frame_class_blame(struct frame_rules *r, struct frames *f, uint32_t stack,
				      struct err *err)
{
	struct blame b = {.rules = r};

	return frames_each(f, stack, look_for_blame, &b, err) < 0 ? NULL : b.frame;
}
