/*
 * fuzz_tar.c - any bytes as a tar archive, which is read to its end
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/tar/tar.h"
#include "base/path.h"
#include "tar_repair.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size, at, raw;
};

static ssize_t
give(void *arg, void *buf, size_t len)
{
	struct input *in = arg;
	size_t n = in->size - in->at;

	n = n < len ? n : len;
	memcpy(buf, in->data + in->at, n);
	in->at += n;
	return (ssize_t)n;
}

static int
raw(void *arg, const void *bytes, size_t len)
{
	struct input *in = arg;

	if (memcmp(in->data + in->raw, bytes, len) != 0)
		abort();
	in->raw += len;
	return 0;
}

/* Checks the fields of an entry, and reads its data. */
static void
look(struct tar *t, const struct tar_entry *e)
{
	uint64_t end = 0, sum = 0;
	char *path = strdup(e->path);
	uint8_t buf[64];
	ssize_t n;

	if (*e->path == '\0' || e->mtime_ns >= 1000000000 || path == NULL)
		abort();
	if (path_clean(path) == 0 && (*path == '/' ||
	    strlen(path) > strlen(e->path)))
		abort();
	free(path);
	for (size_t i = 0; i < e->extent_count; i++) {
		if (e->extents[i].offset < end)
			abort();
		end = e->extents[i].offset + e->extents[i].length;
		sum += e->extents[i].length;
	}
	if (end > e->size || (e->extent_count > 0 && sum != e->stored) ||
	    strlen(e->link) + strlen(e->uname) + strlen(e->gname) > SIZE_MAX)
		abort();
	for (size_t i = 0; i < e->xattr_count; i++)
		sum += strlen(e->xattrs[i].name);
	if (e->size % 2 == 0)
		while ((n = tar_read(t, buf, sizeof(buf))) > 0)
			;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = tar_repair(data, size);
	struct input in = { .data = copy, .size = size };
	struct tar_source source = { .read = give, .raw = raw, .arg = &in };
	struct tar_entry e;
	struct tar *t;

	if (tar_open(&t, &source) != 0)
		abort();
	while (tar_next(t, &e) == 1)
		look(t, &e);
	if (tar_offset(t) != in.at || in.raw != in.at)
		abort();
	tar_close(t);
	free(copy);
	return 0;
}
