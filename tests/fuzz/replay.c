/*
 * replay.c - runs a fuzz target on files, without a fuzzer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: fuzz_NAME FILE|FOLDER...
 * Every FILE, and every regular file directly in a FOLDER, is one input; no
 * input at all is tried first.  Without any input the status is 77: the
 * programs that make the seeds are missing.  A failing input is named by the
 * last line on standard output, which is written before the input is used.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
replay_die(const char *what)
{
	perror(what);
	exit(1);
}

/* The input has exactly its size, so that a sanitizer sees a read past it. */
static void
replay_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size > 0 ? size : 1);
	FILE *f = fopen(path, "rb");

	if (data == NULL || f == NULL || fread(data, 1, size, f) != size)
		replay_die(path);
	fclose(f);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

/* Returns the number of inputs. */
static unsigned
replay_folder(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	unsigned n = 0;

	if (d == NULL)
		replay_die(path);
	while ((e = readdir(d)) != NULL) {
		char file[PATH_MAX];
		struct stat st;

		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		if (stat(file, &st) != 0)
			replay_die(file);
		if (S_ISREG(st.st_mode)) {
			replay_file(file, (size_t)st.st_size);
			n++;
		}
	}
	closedir(d);
	return n;
}

int
main(int argc, char **argv)
{
	static const uint8_t nothing[1];
	unsigned n = 0;

	LLVMFuzzerTestOneInput(nothing, 0);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) != 0) {
			if (errno != ENOENT)
				replay_die(argv[i]);
		} else if (S_ISDIR(st.st_mode)) {
			n += replay_folder(argv[i]);
		} else {
			replay_file(argv[i], (size_t)st.st_size);
			n++;
		}
	}
	printf("%u inputs\n", n);
	return n > 0 ? 0 : 77;
}
