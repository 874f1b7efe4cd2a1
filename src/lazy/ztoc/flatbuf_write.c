/*
 * flatbuf_write.c - writing a FlatBuffer back to front
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The latest bytes are in a piece of memory, which is filled from the end; a
 * full piece is written to the file.  Bytes in the file are never changed: the
 * offset of a vtable is known before the beginning of its table is written.
 */
#include "lazy/ztoc/flatbuf.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

enum {
	PIECE = 256 << 10,
	VTABLE_HEAD = 4,
	REF = 4
};

/* A vtable that has been written. */
struct vtable {
	uint32_t at;
	unsigned slots;
	uint16_t field[FLATBUF_SLOTS];	/* offset in the table; 0 if absent */
};

struct flatbuf_writer {
	int rc;				/* the first error */
	const char *tmpdir;
	int fd;				/* -1: not opened yet */
	uint64_t pieces;		/* pieces in the file */
	uint64_t size;			/* bytes written */
	unsigned align;			/* largest alignment so far */
	uint64_t table_from;		/* size at the start of the table */
	uint32_t field[FLATBUF_SLOTS];	/* positions in the table */
	struct vtable *vtables;
	size_t vtable_count, vtable_cap;
	size_t room;			/* free bytes in piece */
	uint8_t piece[PIECE];
};

int
flatbuf_writer_open(struct flatbuf_writer **out, const char *tmpdir)
{
	struct flatbuf_writer *w = sys_malloc(sizeof(*w));

	*out = w;
	if (w == NULL)
		return -ENOMEM;
	memset(w, 0, offsetof(struct flatbuf_writer, piece));
	w->tmpdir = tmpdir;
	w->fd = -1;
	w->align = 1;
	w->room = PIECE;
	return 0;
}

void
flatbuf_writer_close(struct flatbuf_writer *w)
{
	if (w == NULL)
		return;
	if (w->fd >= 0)
		sys_close(w->fd);
	sys_free(w->vtables);
	sys_free(w);
}

/* Bytes */

static void
place(struct flatbuf_writer *w, const void *data, size_t len)
{
	const uint8_t *p = data;

	if (w->rc == 0 && len > INT32_MAX - w->size)
		w->rc = -EFBIG;
	while (w->rc == 0 && len > 0) {
		size_t n = len < w->room ? len : w->room;

		memcpy(w->piece + w->room - n, p + len - n, n);
		w->room -= n;
		w->size += n;
		len -= n;
		if (w->room > 0)
			continue;
		if (w->fd < 0)
			w->fd = sys_openat(AT_FDCWD, w->tmpdir,
			    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		w->rc = w->fd < 0 ? w->fd : fdio_write(w->fd, w->piece, PIECE);
		w->pieces++;
		w->room = PIECE;
	}
}

/* Pads so that an item of `size` bytes will be aligned after `more` bytes. */
static void
prepare(struct flatbuf_writer *w, unsigned size, uint64_t more)
{
	static const uint8_t zeros[8];

	if (size > w->align)
		w->align = size;
	place(w, zeros, -(w->size + more) & (size - 1));
}

static void
place_u32(struct flatbuf_writer *w, uint32_t value)
{
	uint8_t le[4];

	store_le32(le, value);
	place(w, le, sizeof(le));
}

static void
place_ref(struct flatbuf_writer *w, uint32_t at)
{
	prepare(w, REF, 0);
	place_u32(w, (uint32_t)w->size - at + REF);
}

/* Vectors */

uint32_t
flatbuf_put_string(struct flatbuf_writer *w, const void *s, size_t len)
{
	prepare(w, REF, (uint64_t)len + 1);
	place(w, "", 1);
	place(w, s, len);
	place_u32(w, (uint32_t)len);
	return (uint32_t)w->size;
}

void
flatbuf_bytes_begin(struct flatbuf_writer *w, uint64_t len)
{
	prepare(w, REF, len);
}

void
flatbuf_bytes_piece(struct flatbuf_writer *w, const void *data, size_t len)
{
	place(w, data, len);
}

uint32_t
flatbuf_bytes_end(struct flatbuf_writer *w, uint64_t len)
{
	place_u32(w, (uint32_t)len);
	return (uint32_t)w->size;
}

uint32_t
flatbuf_put_bytes(struct flatbuf_writer *w, const void *data, size_t len)
{
	flatbuf_bytes_begin(w, len);
	flatbuf_bytes_piece(w, data, len);
	return flatbuf_bytes_end(w, len);
}

uint32_t
flatbuf_put_refs(struct flatbuf_writer *w, const uint32_t *at, size_t count)
{
	prepare(w, REF, (uint64_t)count * REF);
	for (size_t i = count; i > 0; i--)
		place_ref(w, at[i - 1]);
	place_u32(w, (uint32_t)count);
	return (uint32_t)w->size;
}

/* Tables */

void
flatbuf_table_begin(struct flatbuf_writer *w)
{
	memset(w->field, 0, sizeof(w->field));
	w->table_from = w->size;
}

static void
put_field(struct flatbuf_writer *w, unsigned slot, const void *le,
    unsigned size)
{
	prepare(w, size, 0);
	place(w, le, size);
	w->field[slot] = (uint32_t)w->size;
}

void
flatbuf_put_u8(struct flatbuf_writer *w, unsigned slot, uint8_t value,
    uint8_t absent)
{
	if (value != absent)
		put_field(w, slot, &value, 1);
}

void
flatbuf_put_u32(struct flatbuf_writer *w, unsigned slot, uint32_t value)
{
	uint8_t le[4];

	store_le32(le, value);
	if (value != 0)
		put_field(w, slot, le, sizeof(le));
}

void
flatbuf_put_u64(struct flatbuf_writer *w, unsigned slot, uint64_t value)
{
	uint8_t le[8];

	store_le64(le, value);
	if (value != 0)
		put_field(w, slot, le, sizeof(le));
}

void
flatbuf_put_ref(struct flatbuf_writer *w, unsigned slot, uint32_t at)
{
	if (at == 0)
		return;
	place_ref(w, at);
	w->field[slot] = (uint32_t)w->size;
}

uint32_t
flatbuf_table_end(struct flatbuf_writer *w)
{
	struct vtable v = { .slots = 0 };
	uint8_t le[VTABLE_HEAD + 2 * FLATBUF_SLOTS];
	void *items = w->vtables;
	uint32_t table;
	size_t len;

	prepare(w, REF, 0);
	table = (uint32_t)w->size + REF;
	for (unsigned i = 0; i < FLATBUF_SLOTS; i++) {
		if (w->field[i] == 0)
			continue;
		v.field[i] = (uint16_t)(table - w->field[i]);
		v.slots = i + 1;
	}
	for (size_t i = w->vtable_count; i > 0; i--) {
		const struct vtable *same = &w->vtables[i - 1];

		if (same->slots == v.slots && memcmp(same->field, v.field,
		    sizeof(v.field)) == 0) {
			place_u32(w, same->at - table);
			return table;
		}
	}
	/* a new vtable, directly before the table */
	len = VTABLE_HEAD + 2 * (size_t)v.slots;
	place_u32(w, (uint32_t)len);
	store_le16(le, (uint16_t)len);
	store_le16(le + 2, (uint16_t)(table - w->table_from));
	for (unsigned i = 0; i < v.slots; i++)
		store_le16(le + VTABLE_HEAD + 2 * (size_t)i, v.field[i]);
	place(w, le, len);
	v.at = (uint32_t)w->size;
	if (w->rc == 0)
		w->rc = array_grow(&items, w->vtable_count, &w->vtable_cap,
		    sizeof(v));
	w->vtables = items;
	if (w->rc == 0)
		w->vtables[w->vtable_count++] = v;
	return table;
}

/* The end */

int
flatbuf_finish(struct flatbuf_writer *w, uint32_t root,
    int (*put)(void *arg, const void *data, size_t len), void *arg)
{
	ssize_t n;
	int rc;

	prepare(w, w->align, REF);
	place_ref(w, root);
	rc = w->rc;
	if (rc == 0)
		rc = put(arg, w->piece + w->room, PIECE - w->room);
	for (uint64_t i = w->pieces; rc == 0 && i > 0; i--) {
		n = fdio_pread(w->fd, w->piece, PIECE,
		    (off_t)((i - 1) * PIECE));
		rc = n < 0 ? (int)n : n < PIECE ? -EIO :
		    put(arg, w->piece, PIECE);
	}
	return rc;
}
