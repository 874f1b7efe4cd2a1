/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static int
row(void *arg, const struct walk_file *f)
{
	(void)arg;
	if (f->type != WALK_FILE || f->err != 0) {
		if (f->err != 0)
			fprintf(stderr, "%s: %d\n", f->path, f->err);
		return 0;
	}
	for (unsigned i = 0; i < f->digest_len; i++)
		printf("%02x", f->digest[i]);
	printf("  %s\n", f->path);
	return 0;
}

static int
damage(void *arg, const struct walk_damage *d)
{
	(void)arg;
	fprintf(stderr, "%llu %s: %s\n", (unsigned long long)d->offset,
	    d->path == NULL ? "-" : d->path, d->reason);
	return 0;
}

int
main(int argc, char **argv)
{
	struct digest_algo *a;
	struct walk_result r;
	const char *why;
	int rc, fd = open(argv[1], O_RDONLY);

	if (argc < 4 || digest_algo_open(&a, argv[3]) != 0)
		return 2;
	struct walk_options o = { .threads = (unsigned)atoi(argv[2]),
	    .digest = a, .row = row, .damage = damage };
	rc = walk_squashfs.walk(fd, 0, &o, &r, &why);
	fprintf(stderr, "rc %d %s files %llu errors %llu dup %llu\n", rc,
	    why == NULL ? "" : why, (unsigned long long)r.files,
	    (unsigned long long)r.errors, (unsigned long long)r.duplicates);
	digest_algo_close(a);
	return rc != 0;
}
