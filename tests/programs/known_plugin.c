/* usage: known_plugin LIBRARY. Loads it and calls known_lib_call(). */
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*call)(void) = NULL;

	if (lib)
		*(void **)&call = dlsym(lib, "known_lib_call");
	if (!call)
		return 2;
	call();
	return 0;
}
