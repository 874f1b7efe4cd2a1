/*
 * verify.c - comparing a layer's archive, index, units and trace
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pieces of a trace are in startup order, and comparing them in that order
 * would require decoding the same units repeatedly.  Therefore they are stored
 * in an unnamed file, and compared in the order of the archive.
 */
#include "lazy/verify/verify.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "format/tar/tar_archive.h"
#include "lazy/unit_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum unit_state { UNIT_UNREAD, UNIT_GOOD, UNIT_BAD };

enum { PIECE = 64 << 10, TRACE_PART = 1 << 20 };

static const uint8_t zeros[PIECE];

struct verify {
	const struct layer *l;
	const struct layer_blobs *blobs;
	const struct verify_options *o;
	struct verify_result *result;
	const struct layer_entry *entries;
	struct unit_reader reader;
	uint32_t unit;			/* unit in the reader */
	uint8_t *state;			/* enum unit_state for each unit */
	struct digest *digest;
	/* the file being compared */
	size_t n;			/* entry of the file */
	size_t run;			/* first run not yet compared */
	bool hashed, differs;
};

/* Reports a fault. */
static void __attribute__((format(printf, 2, 3)))
verify_fault(struct verify *v, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->result->faults++;
	v->o->report(v->o->arg, text);
}

/* Units */

/*
 * Returns a unit's content, loading it if necessary.  Returns NULL, after
 * reporting the reason, if the unit is invalid.
 */
static const uint8_t *
verify_unit(struct verify *v, uint32_t unit)
{
	int rc;

	if (v->state[unit] == UNIT_GOOD && v->unit == unit)
		return v->reader.content;
	if (v->state[unit] == UNIT_BAD)
		return NULL;
	rc = unit_read(&v->reader, unit);
	v->unit = unit;
	v->state[unit] = rc == 0 ? UNIT_GOOD : UNIT_BAD;
	if (rc == 0)
		return v->reader.content;
	verify_fault(v, "unit %" PRIu32 ": %s", unit, rc == -EBADMSG ?
	    v->reader.why : strerror(-rc));
	return NULL;
}

/* A file's data */

static bool
is_zero(const uint8_t *data, uint64_t len)
{
	while (len > 0) {
		size_t n = len < PIECE ? (size_t)len : PIECE;

		if (memcmp(data, zeros, n) != 0)
			return false;
		data += n;
		len -= n;
	}
	return true;
}

/*
 * Compares len bytes of data (NULL: zeros) at offset `at` in a file with the
 * units of the file.  *first is the first run of the entry that does not end
 * before the data; it is advanced, so pieces must be in file order.  An invalid
 * unit has already been reported, and is treated as equal.
 */
static bool
verify_data(struct verify *v, const struct layer_entry *e, size_t *first,
    uint64_t at, const uint8_t *data, uint64_t len)
{
	uint64_t from = at, to = at + len;

	for (; *first < e->run_count; ++*first) {
		const struct layer_run *run = &e->runs[*first];
		uint64_t run_end = run->offset + run->length;
		uint64_t begin = run->offset > from ? run->offset : from;
		uint64_t end = run_end < to ? run_end : to;
		const uint8_t *content;

		if (begin >= end)
			break;
		content = verify_unit(v, run->unit);
		if (content == NULL)
			return true;	/* already reported */
		content += run->inner + (begin - run->offset);
		if (data != NULL ? !is_zero(data + (from - at), begin - from) ||
		    memcmp(data + (begin - at), content,
		    (size_t)(end - begin)) != 0 :
		    !is_zero(content, end - begin))
			return false;
		from = end;
		if (end < run_end)
			break;
	}
	return data == NULL || is_zero(data + (from - at), to - from);
}

/* An entry's data in the archive */

static int
compare_data(struct verify *v, uint64_t at, const uint8_t *data, uint64_t len)
{
	int rc = 0;

	v->result->bytes += data == NULL ? 0 : len;
	if (!v->differs)
		v->differs = len > 0 && !verify_data(v, &v->entries[v->n],
		    &v->run, at, data, len);
	while (v->hashed && rc == 0 && len > 0) {
		size_t n = len < PIECE ? (size_t)len : PIECE;

		rc = digest_add(v->digest, data == NULL ? zeros : data, n);
		data = data == NULL ? NULL : data + n;
		len -= n;
	}
	return rc;
}

static int
compare_file(struct verify *v, struct tar *t, const struct tar_entry *e)
{
	const struct tar_extent whole = { 0, e->size };
	const struct tar_extent *x = e->extents == NULL ? &whole : e->extents;
	size_t count = e->extents == NULL ? 1 : e->extent_count;
	const uint8_t *expected = layer_file_digest(v->l, v->n);
	const char *path = v->entries[v->n].path;
	uint8_t piece[PIECE], sum[DIGEST_MAX];
	uint64_t at = 0;
	int rc;

	v->run = 0;
	v->differs = false;
	v->hashed = expected != NULL;
	rc = digest_start(v->digest);
	for (; rc == 0 && count > 0; x++, count--) {
		rc = compare_data(v, at, NULL, x->offset - at);
		at = x->offset;
		for (uint64_t left = x->length; rc == 0 && left > 0;) {
			ssize_t n = tar_read(t, piece, left < PIECE ?
			    (size_t)left : PIECE);

			if (n <= 0)
				return n == 0 ? -ENODATA : (int)n;
			rc = compare_data(v, at, piece, (uint64_t)n);
			at += (uint64_t)n;
			left -= (uint64_t)n;
		}
	}
	if (rc == 0)
		rc = compare_data(v, at, NULL, e->size - at);
	if (rc == 0)
		rc = digest_end(v->digest, sum);
	if (rc != 0)
		return rc;
	if (v->differs)
		verify_fault(v, "%s: the archive and the index differ in data",
		    path);
	else if (expected != NULL && memcmp(sum, expected, LAYER_DIGEST) != 0)
		verify_fault(v, "%s: the digest does not match", path);
	return 0;
}

/* Entries */

/*
 * Compares link targets as they are in the archive, except for trailing
 * slashes.
 */
static bool
same_link(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	while (n > 1 && a[n - 1] == '/')
		n--;
	while (m > 1 && b[m - 1] == '/')
		m--;
	return n == m && memcmp(a, b, n) == 0;
}

static bool
same_xattrs(const struct tar_entry *t, const struct layer_entry *e)
{
	if (t->xattr_count != e->xattr_count)
		return false;
	for (size_t i = 0; i < e->xattr_count; i++) {
		const struct tar_xattr *x = &e->xattrs[i], *y = t->xattrs;
		const struct tar_xattr *end = y + t->xattr_count;

		while (y < end && strcmp(y->name, x->name) != 0)
			y++;
		if (y == end || y->length != x->length ||
		    memcmp(y->value, x->value, x->length) != 0)
			return false;
	}
	return true;
}

/*
 * Compares owner names.  If the index has none, only the numeric IDs are
 * compared.
 */
static bool
same_name(const char *in_archive, const char *in_index)
{
	return *in_index == '\0' || strcmp(in_archive, in_index) == 0;
}

/*
 * Compares an entry of the archive with an entry of the index, without the
 * data.  Returns NULL if they are equal, otherwise a description of the
 * difference.
 */
static const char *
entry_difference(const struct tar_entry *t, const struct layer_entry *e)
{
	bool device = e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE;

	if (t->type != e->type)
		return "type";
	if (e->type == TAR_FILE && t->size != e->size)
		return "size";
	if ((e->type == TAR_SYMLINK || e->type == TAR_HARDLINK) &&
	    !same_link(t->link, e->link))
		return "link target";
	if (t->mode != e->mode)
		return "mode";
	if (t->uid != e->uid || t->gid != e->gid ||
	    !same_name(t->uname, e->uname) || !same_name(t->gname, e->gname))
		return "owner";
	/* nanoseconds, or seconds that were rounded or truncated */
	if (e->mtime_ns != 0 ?
	    t->mtime != e->mtime || t->mtime_ns != e->mtime_ns :
	    t->mtime != e->mtime &&
	    (t->mtime_ns == 0 || t->mtime != e->mtime - 1))
		return "time";
	if (device && (t->major != e->major || t->minor != e->minor))
		return "device number";
	return same_xattrs(t, e) ? NULL : "extended attributes";
}

/* Reads the archive, and compares it with the index.  Returns 0 or -errno. */
static int
verify_archive(struct verify *v)
{
	const struct tar_archive_options o = { .threads = v->o->threads };
	struct tar_archive a;
	struct tar_entry e;
	char *path;
	size_t before = v->result->faults;
	int rc;

	if (v->o->archive < 0)
		return v->o->archive;
	rc = tar_archive_open(&a, v->o->archive, &o);
	if (rc != 0)
		goto out;
	while ((rc = tar_next(a.tar, &e)) == 1) {
		const struct layer_entry *x = &v->entries[v->n];
		const char *what;

		e.path = path = strcopy(e.path);
		if (path == NULL) {
			rc = -ENOMEM;
			goto out;
		}
		if (path_clean(path) == 0 && layer_is_internal(path) &&
		    layer_kind(v->l) != LAYER_ZTOC)
			goto next;
		if (v->n >= v->result->entries || strcmp(path, x->path) != 0) {
			verify_fault(v, "the archive contains %s, but the "
			    "index contains %s", path,
			    v->n >= v->result->entries ? "no more entries" :
			    x->path);
			rc = -EBADMSG;
			goto next;
		}
		what = entry_difference(&e, x);
		if (what != NULL)
			verify_fault(v, "%s: the archive and the index differ "
			    "in %s", path, what);
		else if (x->type == TAR_FILE)
			rc = compare_file(v, a.tar, &e);
		v->n++;
next:
		sys_free(path);
		if (rc < 0)
			goto out;
	}
	if (rc == 0)
		rc = tar_archive_end(&a);
	if (rc == 0 && v->n < v->result->entries)
		verify_fault(v, "the archive ends, but the index contains %s",
		    v->entries[v->n].path);
out:
	if (rc != 0 && v->result->faults == before)
		verify_fault(v, "the archive: %s", tar_archive_why(&a, rc));
	tar_archive_close(&a);
	return 0;
}

/* The trace */

struct trace_piece {
	uint32_t entry;
	uint32_t length;
	uint64_t offset;		/* offset in the layer's file */
	uint64_t at;			/* offset in our file */
};

struct spooled_trace {
	const struct layer_blobs *blobs;
	struct layer_range stored;	/* range not yet read */
	uint8_t *part;
	int fd;
	struct trace_piece *pieces;
	size_t count, cap, longest;
	uint64_t end;
	/* their pieces are ours */
	struct layer_section *sections;
	size_t section_count, section_cap;
};

static int
spool_piece(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct spooled_trace *t = arg;
	void *pieces = t->pieces;
	int rc = array_grow(&pieces, t->count, &t->cap, sizeof(*t->pieces));

	t->pieces = pieces;
	if (rc == 0)
		rc = fdio_write(t->fd, data, length);
	if (rc != 0)
		return rc;
	t->pieces[t->count++] = (struct trace_piece){ .entry = (uint32_t)entry,
		.length = (uint32_t)length, .offset = offset, .at = t->end };
	t->end += length;
	if (length > t->longest)
		t->longest = length;
	return 0;
}

static int
keep_section(void *arg, const struct layer_section *s)
{
	struct spooled_trace *t = arg;
	void *sections = t->sections;
	struct layer_piece *pieces;
	int rc = array_grow(&sections, t->section_count, &t->section_cap,
	    sizeof(*t->sections));

	t->sections = sections;
	pieces = rc != 0 ? NULL : sys_malloc(s->count * sizeof(*pieces));
	if (pieces == NULL)
		return -ENOMEM;
	memcpy(pieces, s->pieces, s->count * sizeof(*pieces));
	t->sections[t->section_count] = *s;
	t->sections[t->section_count++].pieces = pieces;
	return 0;
}

static ssize_t
read_trace(void *arg, const uint8_t **data)
{
	struct spooled_trace *t = arg;
	struct layer_range r = { .offset = t->stored.offset, .buf = t->part,
		.length = t->stored.length < TRACE_PART ? t->stored.length :
		TRACE_PART };
	int rc = t->blobs->read(t->blobs->arg, &r, 1);

	t->stored.offset += r.length;
	t->stored.length -= r.length;
	*data = t->part;
	return rc == 0 ? (ssize_t)r.length : rc;
}

static int
by_entry(const void *a, const void *b)
{
	const struct trace_piece *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/*
 * Reports a trace, or a section, that readers would not use.  Returns 0, or
 * -errno if another error occurred.
 */
static int
check_decoded(struct verify *v, const char *what, int rc)
{
	if (rc != -EBADMSG && rc != -EFBIG)
		return rc;
	verify_fault(v, "%s is %s", what, rc == -EFBIG ?
	    "larger than readers accept" :
	    "damaged or does not fit the index");
	return 0;
}

/* Decodes the trace and its sections into the spool.  Returns 0 or -errno. */
static int
spool_trace(struct verify *v, struct spooled_trace *t)
{
	const struct layer_trace_io io = { .next = read_trace,
		.take = spool_piece, .section = keep_section, .arg = t };
	size_t usable;
	int rc;

	t->part = sys_malloc(TRACE_PART);
	if (t->part == NULL)
		return -ENOMEM;
	rc = layer_trace_decode(v->l, &io);
	if (rc != 0) {
		t->count = 0;
		return check_decoded(v, "the trace", rc);
	}
	for (size_t i = 0; rc == 0 && i < t->section_count; i++) {
		char what[64];

		usable = t->count;
		t->stored = t->sections[i].stored;
		rc = layer_section_decode(v->l, &t->sections[i], &io);
		if (rc == 0)
			continue;
		t->count = usable;
		snprintf(what, sizeof(what), "section %zu of the trace",
		    i + 1);
		rc = check_decoded(v, what, rc);
	}
	return rc;
}

/*
 * Compares the trace, if the layer has one, with the units.  Returns 0 or
 * -errno.
 */
static int
verify_trace(struct verify *v)
{
	struct spooled_trace t = { .blobs = v->blobs, .fd = v->o->spool };
	uint32_t reported = UINT32_MAX;
	uint8_t *buf = NULL;
	int rc;

	if (t.fd < 0 || !layer_trace(v->l, &t.stored))
		return 0;
	rc = spool_trace(v, &t);
	if (rc != 0 || t.count == 0)
		goto out;
	qsort(t.pieces, t.count, sizeof(*t.pieces), by_entry);
	buf = sys_malloc(t.longest);
	if (buf == NULL)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < t.count; i++) {
		const struct trace_piece *p = &t.pieces[i];
		const struct layer_entry *e = &v->entries[p->entry];
		size_t run = layer_find_run(e, p->offset);
		ssize_t n = fdio_pread(t.fd, buf, p->length, (off_t)p->at);

		if (n != (ssize_t)p->length) {
			rc = n < 0 ? (int)n : -EIO;
			break;
		}
		/* only the first difference in a file is reported */
		if (verify_data(v, e, &run, p->offset, buf, p->length) ||
		    reported == p->entry)
			continue;
		reported = p->entry;
		verify_fault(v, "%s: the trace differs from the file in the %"
		    PRIu32 " bytes at offset %" PRIu64, e->path, p->length,
		    p->offset);
	}
out:
	for (size_t i = 0; i < t.section_count; i++) {
		void *pieces;

		memcpy(&pieces, &t.sections[i].pieces, sizeof(pieces));
		sys_free(pieces);
	}
	sys_free(buf);
	sys_free(t.part);
	sys_free(t.sections);
	sys_free(t.pieces);
	return rc;
}

/* The whole layer */

int
verify_layer(const struct layer *l, const struct layer_blobs *blobs,
    const struct verify_options *o, struct verify_result *r)
{
	struct verify v = { .l = l, .blobs = blobs, .o = o, .result = r };
	char why[LAYER_WHY] = "";
	uint64_t size;
	int rc = -ENOMEM;

	*r = (struct verify_result){ .entries = 0 };
	v.entries = layer_entries(l, &r->entries);
	layer_units(l, &r->units);
	v.state = sys_calloc(r->units + 1, 1);
	if (v.state == NULL)
		return rc;
	rc = unit_reader_open(&v.reader, l, blobs);
	if (rc == 0)
		rc = digest_new_sha256(&v.digest);
	if (rc != 0)
		goto out;
	/* a repository has no archive */
	rc = blobs->size(blobs->arg, NULL, &size);
	rc = rc == 0 ? verify_archive(&v) : rc == -ENOENT ? 0 : rc;
	if (rc != 0)
		goto out;
	/* units that no entry of the archive uses */
	for (size_t u = 0; u < r->units; u++)
		if (v.state[u] == UNIT_UNREAD)
			verify_unit(&v, (uint32_t)u);
	rc = layer_check_compact(l, why);
	if (rc == -ENOMEM)
		goto out;
	if (rc != 0)
		verify_fault(&v, "%s", why);
	rc = verify_trace(&v);
out:
	digest_free(v.digest);
	unit_reader_close(&v.reader);
	sys_free(v.state);
	return rc;
}
