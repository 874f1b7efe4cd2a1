/*
 * tar_made.c - creating tar archives in memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

ssize_t
archive_give(void *arg, void *buf, size_t len)
{
	struct archive *a = arg;

	if (len > a->step)
		len = a->step;
	if (len > a->len - a->at)
		len = a->len - a->at;
	memcpy(buf, a->data + a->at, len);
	a->at += len;
	return (ssize_t)len;
}

void
begin(struct archive *a)
{
	memset(a, 0, sizeof(*a));
	a->step = 100;
}

void
set_size(uint8_t *h, unsigned size)
{
	snprintf((char *)h + 124, 12, "%011o", size);
}

uint8_t *
add(struct archive *a, char type, const char *name, const void *data,
    size_t len)
{
	uint8_t *h = a->data + a->len;

	snprintf((char *)h, 100, "%s", name);
	memcpy(h + 100, "0000644\0000000001\0000000002\0", 24);
	set_size(h, (unsigned)len);
	memcpy(h + 136, "00000000000", 12);
	h[156] = (uint8_t)type;
	memcpy(h + 257, "ustar\00000", 8);
	memcpy(h + 512, data, len);
	a->len += 512 + (len + 511) / 512 * 512;
	return h;
}

void
sum(uint8_t *h)
{
	unsigned n = 0;

	memset(h + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		n += h[i];
	snprintf((char *)h + 148, 8, "%06o", n);
}

void
add_pax(struct archive *a, char type, const char *records, size_t len)
{
	sum(add(a, type, "pax", records, len));
}

size_t
record(char *to, const char *key, const char *value, size_t len)
{
	size_t body = strlen(key) + len + 3, total = body + 1;

	while (total != body + (size_t)snprintf(NULL, 0, "%zu", total))
		total++;
	to += sprintf(to, "%zu %s=", total, key);
	memcpy(to, value, len);
	to[len] = '\n';
	return total;
}

void
add_records(struct archive *a, char type, const char *const *texts)
{
	char all[1024], key[64];
	size_t len = 0;

	for (; *texts != NULL; texts++) {
		const char *equals = strchr(*texts, '=');

		snprintf(key, sizeof(key), "%.*s", (int)(equals - *texts),
		    *texts);
		len += record(all + len, key, equals + 1, strlen(equals + 1));
	}
	add_pax(a, type, all, len);
}

struct tar *
opened(struct archive *a)
{
	struct tar_source s = { .read = archive_give, .arg = a };
	struct tar *t;

	a->at = 0;
	assert_int_equal(tar_open(&t, &s), 0);
	return t;
}

int
first(struct archive *a, struct tar_entry *e)
{
	struct tar *t = opened(a);
	int rc = tar_next(t, e);

	if (rc < 0)
		assert_non_null(tar_why(t));
	e->path = e->link = e->uname = e->gname = NULL;
	tar_close(t);
	return rc;
}
