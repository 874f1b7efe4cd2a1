/*
 * fuzz_sqpack_words.c - any bytes as a command line of mksquashfs, unsquashfs
 * or sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects the program; the rest consists of NUL-terminated
 * words.  No image is built or read, and no program is run; pseudo files are
 * added to a small tree.
 */
#include "as.h"

#include "base/sys.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_posix_spawn(pid_t *, const char *,
    const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
    char *const[], char *const[]);
int __wrap_posix_spawnp(pid_t *, const char *,
    const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
    char *const[], char *const[]);

enum { WORDS = 64 };

/* The commands of pseudo files, and dates */
int
__wrap_posix_spawn(pid_t *pid, const char *path,
    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
    char *const argv[], char *const env[])
{
	(void)pid;
	(void)path;
	(void)actions;
	(void)attr;
	(void)argv;
	(void)env;
	return EPERM;
}

int
__wrap_posix_spawnp(pid_t *pid, const char *path,
    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
    char *const argv[], char *const env[])
{
	return __wrap_posix_spawn(pid, path, actions, attr, argv, env);
}

/* Words may name sources in this directory, but sources are not read. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (chdir("/usr") == -1 || freopen("/dev/null", "w", stdout) == NULL)
		abort();
	return 0;
}

/* Builds a tree for pseudo file definitions to apply to. */
static void
complete(struct sqpack *p)
{
	struct sqw_tree *t = &p->image.tree;
	struct sqw_attr dir = { .mode = S_IFDIR | 0755 };
	uint32_t id;

	if (sqw_tree_open(t) != 0 ||
	    sqt_xattrs_open(&p->image.xattrs, true) != 0 || sqw_tree_add(t, "sub", &dir, &id) != 0)
		abort();
	if (p->o.from.complete(p) == 0 && sqw_tree_finish(t) != 0)
		abort();
}

static int
parse(struct sqpack *p, uint8_t which, int argc, char **argv)
{
	optind = 0;
	switch (which % 5) {
	case 0: return as_mksquashfs_parse(p, argc, argv);
	case 1: return as_unsquashfs_parse(p, argc, argv);
	case 3: return as_sqfstar_parse(p, argc, argv);
	case 4: return as_sqfscat_parse(p, argc, argv);
	default: return sqpack_parse(p, argc, argv);
	}
}

/*
 * Whether the C library may copy a regular expression thousands of times: each
 * `+' and `{' doubles at least what it repeats, and they can be nested.
 */
static bool
explodes(const uint8_t *data, size_t size)
{
	unsigned n = 0;

	for (size_t i = 0; i < size; i++)
		n += data[i] == '+' || data[i] == '{';
	return n > 12;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sqpack p = { .msg.silent = true };
	char *text = malloc(size + 1), *argv[WORDS + 2];
	char self[] = "sqpack";
	int argc = 0, status;

	/* no devices, because reading them never ends */
	if (text == NULL || size == 0 || explodes(data, size) ||
	    memmem(data, size, "/dev", 4) != NULL ||
	    memmem(data, size, "/proc", 5) != NULL) {
		free(text);
		return 0;
	}
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	argv[argc++] = self;
	for (size_t at = 0; at + 1 < size && argc <= WORDS;
	    at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	status = parse(&p, data[0], argc, argv);
	if (status < 0 && p.o.task == NULL && p.o.from.complete != NULL)
		complete(&p);
	if (status < -1 || status > MSG_WARNING)
		abort();
	sqpack_free(&p);
	free(text);
	return 0;
}
