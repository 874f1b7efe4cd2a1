/*
 * pack_order.c - reading the entries of an archive in a different order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The concatenation of the parts is an archive.
 */
#include "pack_order_impl.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "format/tar/tar_header.h"

#include <errno.h>
#include <string.h>

int
pack_order_open(struct pack_order **out, const struct pack_options *options,
    int in, char why[LAYER_WHY])
{
	struct pack_order *o = sys_calloc(1, sizeof(*o));
	int rc = o == NULL ? -ENOMEM : order_list(o, options, in, why);

	if (rc == 0)
		rc = order_plan(o, options->order);
	if (rc == 0 && options->trace)
		rc = order_touches(o, options->order);
	if (rc != 0)
		pack_order_close(o);
	else
		*out = o;
	return rc;
}

void
pack_order_close(struct pack_order *o)
{
	if (o == NULL)
		return;
	if (o->own_fd && o->fd >= 0)
		sys_close(o->fd);
	tar_close(o->tar);
	arena_free(&o->arena);
	strbuf_free(&o->landmark);
	sys_free(o->entries);
	sys_free(o->by_path);
	sys_free(o->parts);
	sys_free(o->touches);
	sys_free(o);
}

int
pack_order_read(const struct pack_order *o, uint64_t at, void *buf,
    size_t len)
{
	ssize_t n = fdio_pread(o->fd, buf, len, (off_t)(o->base + at));

	/* the archive was longer when it was listed */
	return n < 0 ? (int)n : (size_t)n < len ? -ENODATA : 0;
}

const struct pack_touch *
pack_order_touches(const struct pack_order *o, size_t *count)
{
	*count = o->touch_count;
	return o->touches;
}

static ssize_t
read_parts(void *arg, void *buf, size_t len)
{
	struct pack_order *o = arg;
	const struct order_part *p = &o->parts[o->part];
	uint64_t left, at;
	int rc = 0;

	while (o->part < o->part_count && o->part_at == p->len) {
		p = &o->parts[++o->part];
		o->part_at = 0;
	}
	if (o->part == o->part_count)
		return 0;
	left = p->len - o->part_at;
	if (len > left)
		len = (size_t)left;
	at = p->at + o->part_at;
	if (p->landmark) {
		memcpy(buf, o->landmark.data + o->part_at, len);
	} else if (at >= o->stored) {
		memset(buf, 0, len);
	} else {
		if (len > o->stored - at)
			len = (size_t)(o->stored - at);
		rc = pack_order_read(o, at, buf, len);
	}
	o->part_at += len;
	return rc != 0 ? rc : (ssize_t)len;
}

static int
raw(void *arg, const void *data, size_t len)
{
	const struct pack_order *o = arg;

	return pack_cut_raw(o->cut, data, len);
}

static int
drain_archive(void *arg)
{
	const struct pack_order *o = arg;

	return tar_drain(o->tar);
}

/* Creates the landmark as an archive entry. */
static int
make_landmark(struct pack_order *o)
{
	struct tar_entry e = { .path = LAYER_LANDMARK, .mode = 0644, .size = 1,
		.link = "", .uname = "", .gname = "" };
	char data[TAR_BLOCK] = { 0x0f };

	tar_header_file(&o->landmark, &e);
	strbuf_add(&o->landmark, data, sizeof(data));
	for (size_t i = 0; i < o->part_count; i++)
		if (o->parts[i].landmark)
			o->parts[i].len = o->landmark.len;
	return o->landmark.failed ? -ENOMEM : 0;
}

int
pack_order_begin(struct pack_order *o, struct pack_source *source,
    struct pack_cut *cut)
{
	struct tar_source parts = { .read = read_parts, .raw = raw, .arg = o };
	int rc = make_landmark(o);

	o->cut = cut;
	if (rc == 0)
		rc = tar_open(&o->tar, &parts);
	*source = (struct pack_source){ .tar = o->tar, .end = drain_archive,
		.arg = o,
		.arranged = true };
	return rc;
}

const char *
pack_order_why(const struct pack_order *o, int rc)
{
	const char *why = o->tar == NULL ? NULL : tar_why(o->tar);

	return why != NULL ? why : strerror(-rc);
}
