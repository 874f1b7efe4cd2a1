/*
 * squashfs_walk.c - IMAGE [THREADS [HASH [OFFSET]]]: the walk alone
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes lines as sha256sum does, in no particular order, and damage to
 * standard error; exits with 1 if there is any damage.
 */
#include "walk/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
row(void *arg, const struct walk_file *f)
{
	char text[2 * DIGEST_MAX + 1] = "";

	(void)arg;
	if (f->err != 0)
		fprintf(stderr, "%s: %s\n", f->path, strerror(-f->err));
	if (f->type != WALK_FILE || f->err != 0)
		return 0;
	for (unsigned i = 0; i < f->digest_len; i++)
		snprintf(text + 2 * i, 3, "%02x", f->digest[i]);
	printf("%s  %s\n", text, f->path);
	return 0;
}

static int
damage(void *arg, const struct walk_damage *d)
{
	(void)arg;
	fprintf(stderr, "%" PRIu64 ": %s: %s\n", d->offset,
	    d->path == NULL ? "(table)" : d->path, d->reason);
	return 0;
}

int
main(int argc, char *argv[])
{
	struct walk_options o = { .row = row, .damage = damage };
	struct walk_result r;
	struct digest_algo *a;
	const char *why = NULL;
	int fd, rc;

	if (argc < 2 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) == -1 ||
	    digest_algo_open(&a, argc > 3 ? argv[3] : "sha256") != 0)
		return 2;
	o.threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	o.digest = a;
	rc = walk_squashfs.walk(fd, argc > 4 ? strtoull(argv[4], NULL, 10) : 0,
	    &o, &r, &why);
	digest_algo_close(a);
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", argv[1],
		    why != NULL ? why : strerror(-rc));
	return rc != 0 || r.errors > 0 || r.damaged > 0 ? 1 : 0;
}
