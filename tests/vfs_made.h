/*
 * vfs_made.h - stacks of layers in memory, for tests of lazy/vfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is zstd:chunked: each chunk of CHUNK bytes of a file is a unit.  Its
 * source counts reads, and can be told to fail or to give wrong bytes.
 */
#ifndef COLDPRESS_TESTS_VFS_MADE_H
#define COLDPRESS_TESTS_VFS_MADE_H

#include "lazy/vfs/vfs.h"

#include "layer_open.h"
#include "scratch.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

enum { CHUNK = 40000, WARNINGS = 4096 };

/* A piece of a trace: of the entry with this number, as in the table. */
struct fake_piece {
	uint32_t entry;
	uint64_t offset, length;
	unsigned file;			/* whose bytes it contains */
	unsigned section;		/* 0: the trace; they ascend */
};

enum { SECTIONS = 4 };			/* besides the trace */

/* The bytes of a section; end 0: there is none. */
struct fake_section {
	uint64_t at, end;
	_Atomic unsigned reads;
};

struct fake {
	struct made made;
	struct strbuf json;
	char trace[200];
	uint64_t trace_at, trace_end;
	struct fake_section sections[SECTIONS + 1];	/* from 1 */
	unsigned spoilt;		/* section with a wrong digest, or 0 */
	size_t padding;			/* bytes after the frame of a section */
	_Atomic unsigned section_fails;	/* section that cannot be read, or 0 */
	_Atomic int waits;		/* a read of a section lasts until 0 */
	_Atomic unsigned reads[HTTP_PHASES];
	_Atomic unsigned trace_reads, forgotten;
	_Atomic int fails;		/* -errno of reads, or 0 */
	_Atomic unsigned wrong;		/* number of reads with wrong bytes */
};

/* Returns the byte at an offset of the file with this number. */
static inline uint8_t
fake_byte(unsigned file, uint64_t at)
{
	return (uint8_t)((at * 7 + file * 31) >> (at % 5));
}

static inline bool
fake_is(unsigned file, uint64_t at, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] != fake_byte(file, at + i))
			return false;
	return true;
}

/* Adds an entry: members of a JSON object without the braces. */
static inline void
fake_entry(struct fake *f, const char *members)
{
	strbuf_str(&f->json, f->json.len == 0 ?
	    "{\"version\":1,\"entries\":[{" : ",{");
	strbuf_str(&f->json, members);
	strbuf_str(&f->json, "}");
}

static inline void
fake_dir(struct fake *f, const char *path)
{
	char text[200];

	snprintf(text, sizeof(text), "\"name\":\"%s/\",\"type\":\"dir\"",
	    path);
	fake_entry(f, text);
}

/* Adds a file, of which the first `hole` chunks are zeros. */
static inline void
fake_file_after(struct fake *f, const char *path, unsigned file, uint64_t size,
    unsigned hole)
{
	uint8_t *data = calloc(1, size + 1);
	char text[600], whole[80], sum[80];

	for (uint64_t i = (uint64_t)hole * CHUNK; i < size; i++)
		data[i] = fake_byte(file, i);
	sum_of(data, size, whole);
	for (uint64_t at = 0; at < size || at == 0; at += CHUNK) {
		size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
		int used = snprintf(text, sizeof(text), at == 0 ?
		    "\"name\":\"%s\",\"type\":\"reg\",\"size\":%zu,"
		    "\"digest\":\"%s\"" : "\"name\":\"%s\",\"type\":\"chunk\"",
		    path, (size_t)size, whole);

		if (size > CHUNK)
			used += snprintf(text + used, sizeof(text) -
			    (size_t)used, ",\"chunkOffset\":%zu,"
			    "\"chunkSize\":%zu", (size_t)at, n);
		if (at / CHUNK < hole)
			snprintf(text + used, sizeof(text) - (size_t)used,
			    ",\"chunkType\":\"zeros\"");
		else if (n > 0)
			snprintf(text + used, sizeof(text) - (size_t)used,
			    ",\"chunkDigest\":\"%s\",\"offset\":%zu",
			    sum_of(data + at, n, sum), made_frame(&f->made,
			    data + at, n));
		fake_entry(f, text);
	}
	free(data);
}

static inline void
fake_file(struct fake *f, const char *path, unsigned file, uint64_t size)
{
	fake_file_after(f, path, file, size, 0);
}

static inline void
fake_records(struct strbuf *b, const struct fake_piece *p, size_t count)
{
	uint8_t raw[20];

	for (size_t i = 0; i < count; i++) {
		store_le32(raw, p[i].entry);
		store_le64(raw + 4, p[i].offset);
		store_le64(raw + 12, p[i].length);
		strbuf_add(b, raw, sizeof(raw));
	}
}

static inline void
fake_data(struct strbuf *b, const struct fake_piece *p, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint64_t k = 0; k < p[i].length; k++)
			strbuf_char(b, (char)fake_byte(p[i].file, p[i].offset +
			    k));
}

/* Stores the frame of a trace or a section.  Sets its place and digest. */
static inline void
fake_frame(struct fake *f, const struct strbuf *content, uint64_t *at,
    uint64_t *end, char sum[80])
{
	struct made frame = { .index = 0 };

	made_frame(&frame, content->data, content->len);
	*at = f->made.b.len;
	made_skippable(&f->made, frame.b.data, frame.b.len);
	for (size_t i = 0; at != &f->trace_at && i < f->padding; i++)
		strbuf_char(&f->made.b, 0);
	*end = f->made.b.len;
	sum_of(f->made.b.data + *at, *end - *at, sum);
	strbuf_free(&frame.b);
}

/* Stores a section.  Returns the number of its pieces, which begin at p. */
static inline size_t
fake_section(struct fake *f, const struct fake_piece *p, size_t count,
    struct strbuf *head)
{
	struct fake_section *s = &f->sections[p->section];
	struct strbuf b = { .len = 0 };
	uint8_t raw[52];
	size_t n = 0;
	char sum[80];

	while (n < count && p[n].section == p->section)
		n++;
	fake_data(&b, p, n);
	fake_frame(f, &b, &s->at, &s->end, sum);
	store_le64(raw, s->at);
	store_le64(raw + 8, s->end - s->at);
	for (unsigned i = 0; i < 32; i++) {
		unsigned byte;

		sscanf(sum + 7 + 2 * i, "%2x", &byte);
		raw[16 + i] = (uint8_t)(byte ^ (f->spoilt == p->section));
	}
	store_le32(raw + 48, (uint32_t)n);
	strbuf_add(head, raw, sizeof(raw));
	strbuf_free(&b);
	return n;
}

/* Adds a trace, whose digest is wrong if `damaged` is set. */
static inline void
fake_trace(struct fake *f, const struct fake_piece *p, size_t count,
    bool damaged)
{
	struct strbuf b = { .len = 0 };
	size_t own = 0;
	uint8_t raw[8];
	char sum[80];

	while (own < count && p[own].section == 0)
		own++;
	if (own < count) {
		store_le32(raw, UINT32_MAX);
		store_le32(raw + 4, p[count - 1].section);
		strbuf_add(&b, raw, 8);
		for (size_t i = own; i < count;)
			i += fake_section(f, p + i, count - i, &b);
	}
	store_le32(raw, (uint32_t)own);
	strbuf_add(&b, raw, 4);
	fake_records(&b, p, count);
	fake_data(&b, p, own);
	fake_frame(f, &b, &f->trace_at, &f->trace_end, sum);
	if (damaged)
		sum[10] = sum[10] == '0' ? '1' : '0';
	snprintf(f->trace, sizeof(f->trace), ",\"coldpressTrace\":{"
	    "\"offset\":%zu,\"length\":%zu,\"digest\":\"%s\"}",
	    (size_t)f->trace_at, (size_t)(f->trace_end - f->trace_at), sum);
	strbuf_free(&b);
}

static inline void
fake_end(struct fake *f)
{
	strbuf_str(&f->json, "]");
	strbuf_str(&f->json, f->trace);
	strbuf_str(&f->json, "}");
	made_end(&f->made, MADE_ZSTD, f->json.data, f->json.len);
}

static inline void
fake_free(struct fake *f)
{
	strbuf_free(&f->made.b);
	strbuf_free(&f->json);
}

static inline int
fake_read(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct fake *f = arg;
	int rc = f->fails != 0 && phase != HTTP_INDEX ? f->fails :
	    made_read(&f->made, r, count);

	f->reads[phase]++;
	for (size_t i = 0; i < count; i++) {
		f->trace_reads += r[i].offset >= f->trace_at &&
		    r[i].offset < f->trace_end && phase == HTTP_PREFETCH;
		for (unsigned k = 1; k <= SECTIONS; k++) {
			if (phase != HTTP_PREFETCH ||
			    r[i].offset < f->sections[k].at ||
			    r[i].offset >= f->sections[k].end)
				continue;
			f->sections[k].reads++;
			while (f->waits > 0)
				usleep(1000);
			if (f->section_fails == k)
				rc = -EPROTO;
		}
	}
	if (rc == 0 && phase != HTTP_INDEX && f->wrong > 0) {
		f->wrong--;
		((uint8_t *)r[0].buf)[r[0].length / 2] ^= 1;
	}
	return rc;
}

static inline int
fake_size(void *arg, const char *object, uint64_t *size)
{
	struct fake *f = arg;

	return made_size(&f->made, object, size);
}

static inline void
fake_forget(void *arg, const struct layer_range *r)
{
	struct fake *f = arg;

	(void)r;
	f->forgotten++;
}

static const struct vfs_source_ops fake_ops = { .read = fake_read,
	.size = fake_size, .forget = fake_forget };

/* A filesystem, and a stack */

struct fake_vfs {
	char dir[SCRATCH_B];
	struct vfs_options o;
	struct vfs *v;
	struct vfs_stack s;
	char said[WARNINGS];		/* lines "NAME: WHY" */
};

static inline void
fake_say(void *arg, const char *name, const char *reason)
{
	struct fake_vfs *w = arg;
	size_t used = strlen(w->said);

	snprintf(w->said + used, sizeof(w->said) - used, "%s: %s\n", name,
	    reason);
}

/* Sets the options; vfs_begin() can then be called. */
static inline void
vfs_prepare(struct fake_vfs *w)
{
	memset(w, 0, sizeof(*w));
	assert_non_null(scratch_make(w->dir));
	w->o = (struct vfs_options){ .name = "all", .remote = {
		.report = { .warn = fake_say,
		.fail = fake_say, .arg = w } },
		.prefetch = VFS_PREFETCH_AUTO };
	w->o.remote.cache_dir = open(w->dir, O_RDONLY | O_DIRECTORY);
	assert_true(w->o.remote.cache_dir >= 0);
}

/* Opens a stack of count layers, the lowest first. */
static inline void
vfs_begin(struct fake_vfs *w, struct fake *f, size_t count,
    enum merge_mode mode)
{
	char name[8];

	assert_int_equal(vfs_open(&w->v, &w->o), 0);
	w->s.v = w->v;
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "layer%zu", i);
		assert_int_equal(vfs_stack_add_ops(&w->s, name, &fake_ops,
		    &f[i]), 0);
	}
	assert_int_equal(vfs_stack_build(&w->s, mode), 0);
}

static inline void
vfs_end(struct fake_vfs *w)
{
	vfs_stop(w->v);
	vfs_stack_close(&w->s);
	vfs_close(w->v);
	close(w->o.remote.cache_dir);
	assert_int_equal(rmdir(w->dir), 0);
}

/* Returns the inode with a path, or MERGE_NONE. */
static inline int64_t
vfs_find(const struct fake_vfs *w, const char *path)
{
	char *copy = strdup(path), *rest = copy, *name;
	int64_t node = MERGE_ROOT;

	while (node >= 0 && (name = strsep(&rest, "/")) != NULL)
		node = merge_lookup(w->s.tree, (uint32_t)node, name);
	free(copy);
	return node < 0 ? node :
	    merge_node(w->s.tree, (uint32_t)node)->inode;
}

/* Begins a read of a file, which must exist. */
static inline ssize_t
vfs_read_at(struct fake_vfs *w, struct vfs_read *r, const char *path,
    uint64_t offset, size_t size)
{
	int64_t inode = vfs_find(w, path);

	assert_true(inode >= 0);
	*r = (struct vfs_read){ .stack = &w->s, .inode = (uint32_t)inode,
		.offset = offset };
	return vfs_read(r, size);
}

/* Returns whether a read gives `want` bytes of the file with this number. */
static inline bool
vfs_gives(struct fake_vfs *w, const char *path, uint64_t offset, size_t size,
    unsigned file, size_t want)
{
	struct vfs_read r;
	ssize_t n = vfs_read_at(w, &r, path, offset, size);
	bool right = n == (ssize_t)want && fake_is(file, offset, r.data, want);

	vfs_read_end(&r);
	return right;
}

#endif
