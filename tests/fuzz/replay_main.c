/* fuzz/replay_main.c - runs a fuzz target over the files of its corpus, without libFuzzer.
 *
 * usage: replay FOLDER_OR_FILE...
 * Every input is copied to a block of its exact size, so that a sanitizer build sees overruns.
 */
#include "harness/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_INPUT_BYTES (1u << 20)

static unsigned n_inputs;

static int replay_file(const char *path)
{
	static uint8_t buf[MAX_INPUT_BYTES];
	FILE *f = fopen(path, "rb");
	uint8_t *input;
	size_t n;

	if (!f) {
		perror(path);
		return 1;
	}
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	input = malloc(n ? n : 1);
	if (!input)
		return 1;
	memcpy(input, buf, n);
	LLVMFuzzerTestOneInput(input, n);
	free(input);
	n_inputs++;
	return 0;
}

static int replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char name[4096];
	int failed = 0;

	if (!dir) {
		perror(path);
		return 1;
	}
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		failed |= replay_file(name);
	}
	closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			failed |= replay_folder(argv[i]);
		else
			failed |= replay_file(argv[i]);
	}
	printf("%u inputs\n", n_inputs);
	return failed || n_inputs == 0;
}
