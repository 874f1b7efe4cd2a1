/*
 * flatbuf.h - reading and writing FlatBuffers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: "FlatBuffer Internals" of the FlatBuffers documentation.
 *
 * A buffer contains tables, vectors and strings, which refer to each other by
 * offsets.  A table begins with the offset of its vtable, which contains the
 * position of each field (slot) in the table; an absent field has its default
 * value.  All integers are little-endian.
 */
#ifndef COLDPRESS_LAZY_ZTOC_FLATBUF_H
#define COLDPRESS_LAZY_ZTOC_FLATBUF_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reading.  Nothing in the buffer is trusted: every offset, length and vtable
 * is checked when it is used, so these functions return 0 or -EBADMSG.  There
 * is no recursion.  Thread-safe.
 */
struct flatbuf {
	const uint8_t *data;
	size_t len;
};

struct flatbuf_table {
	const struct flatbuf *b;
	const uint8_t *at, *vtable;
	uint16_t len, vtable_len;	/* bytes */
};

/*
 * A vector of bytes, empty if the field is absent; a string is followed by a
 * NUL.
 */
struct flatbuf_bytes {
	const uint8_t *data;
	uint32_t len;
};

/* References to tables or strings; none if the field is absent. */
struct flatbuf_refs {
	const struct flatbuf *b;
	const uint8_t *items;
	uint32_t count;
};

int flatbuf_root(const struct flatbuf *b, struct flatbuf_table *root);

/* Reads a field; if it is absent, *value is not changed. */
int flatbuf_u8(const struct flatbuf_table *t, unsigned slot, uint8_t *value);
int flatbuf_u32(const struct flatbuf_table *t, unsigned slot,
    uint32_t *value);
int flatbuf_u64(const struct flatbuf_table *t, unsigned slot,
    uint64_t *value);

int flatbuf_string(const struct flatbuf_table *t, unsigned slot,
    struct flatbuf_bytes *s);

/* Reads a vector of items of `size` bytes; v->len is their total length. */
int flatbuf_vector(const struct flatbuf_table *t, unsigned slot, size_t size,
    struct flatbuf_bytes *v);
int flatbuf_refs(const struct flatbuf_table *t, unsigned slot,
    struct flatbuf_refs *r);

/* Also returns -EBADMSG if the field is absent. */
int flatbuf_table(const struct flatbuf_table *t, unsigned slot,
    struct flatbuf_table *child);

/* Reads item i < r->count. */
int flatbuf_ref_table(const struct flatbuf_refs *r, uint32_t i,
    struct flatbuf_table *t);
int flatbuf_ref_string(const struct flatbuf_refs *r, uint32_t i,
    struct flatbuf_bytes *s);

/*
 * Writing.  A buffer is built back to front, because offsets point forward: the
 * objects to which a table refers are written before the table.  The output is
 * identical to that of the FlatBuffers library for Go for the same sequence of
 * calls.  Data that does not fit into a buffer in memory is stored in an
 * unnamed file.
 *
 * Positions are relative to the end.  The first error is kept and returned by
 * flatbuf_finish(): -ENOMEM, -EFBIG (2 GiB), or the file's -errno.  A writer
 * belongs to one thread at a time.
 */
struct flatbuf_writer;

/* tmpdir must outlive the writer.  Returns 0 or -ENOMEM. */
int flatbuf_writer_open(struct flatbuf_writer **w, const char *tmpdir);
void flatbuf_writer_close(struct flatbuf_writer *w);	/* may be NULL */

uint32_t flatbuf_put_string(struct flatbuf_writer *w, const void *s,
    size_t len);
uint32_t flatbuf_put_bytes(struct flatbuf_writer *w, const void *data,
    size_t len);
uint32_t flatbuf_put_refs(struct flatbuf_writer *w, const uint32_t *at,
    size_t count);

/* Writes a vector of len bytes in pieces, the last piece first. */
void flatbuf_bytes_begin(struct flatbuf_writer *w, uint64_t len);
void flatbuf_bytes_piece(struct flatbuf_writer *w, const void *data,
    size_t len);
uint32_t flatbuf_bytes_end(struct flatbuf_writer *w, uint64_t len);

/* Writes a table: between begin and end only fields may be written. */
enum { FLATBUF_SLOTS = 16 };
void flatbuf_table_begin(struct flatbuf_writer *w);
void flatbuf_put_u8(struct flatbuf_writer *w, unsigned slot, uint8_t value,
    uint8_t absent);
void flatbuf_put_u32(struct flatbuf_writer *w, unsigned slot, uint32_t value);
void flatbuf_put_u64(struct flatbuf_writer *w, unsigned slot, uint64_t value);
void flatbuf_put_ref(struct flatbuf_writer *w, unsigned slot, uint32_t at);
uint32_t flatbuf_table_end(struct flatbuf_writer *w);

/*
 * Ends the buffer and passes it to put, front to back.  Returns 0, the first
 * error, or the first nonzero result of put.
 */
int flatbuf_finish(struct flatbuf_writer *w, uint32_t root,
    int (*put)(void *arg, const void *data, size_t len), void *arg);

#endif
