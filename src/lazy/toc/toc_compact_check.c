/*
 * toc_compact_check.c - comparing a compact index with the table of contents
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc_compact.h"

#include "lazy/toc/toc_wrapping.h"

#include <errno.h>
#include <string.h>

static bool
same_xattrs(const struct layer_entry *a, const struct layer_entry *b)
{
	if (a->xattr_count != b->xattr_count)
		return false;
	for (size_t i = 0; i < a->xattr_count; i++) {
		const struct tar_xattr *x = &a->xattrs[i], *y = &b->xattrs[i];

		if (strcmp(x->name, y->name) != 0 || x->length != y->length ||
		    memcmp(x->value, y->value, x->length) != 0)
			return false;
	}
	return true;
}

static bool
same_runs(const struct layer_entry *a, const struct layer_entry *b)
{
	if (a->run_count != b->run_count)
		return false;
	for (size_t i = 0; i < a->run_count; i++) {
		const struct layer_run *x = &a->runs[i], *y = &b->runs[i];

		if (x->offset != y->offset || x->length != y->length ||
		    x->inner != y->inner || x->unit != y->unit)
			return false;
	}
	return true;
}

static bool
same_entry(const struct layer_entry *a, const struct layer_entry *b)
{
	return a->type == b->type && strcmp(a->path, b->path) == 0 &&
	    strcmp(a->link, b->link) == 0 &&
	    strcmp(a->uname, b->uname) == 0 &&
	    strcmp(a->gname, b->gname) == 0 && a->mode == b->mode &&
	    a->major == b->major && a->minor == b->minor &&
	    a->uid == b->uid && a->gid == b->gid && a->mtime == b->mtime &&
	    a->mtime_ns == b->mtime_ns && a->size == b->size &&
	    same_runs(a, b) && same_xattrs(a, b);
}

static int
compare_entries(const struct layer *l, const struct layer *c,
    char why[LAYER_WHY])
{
	size_t count, other;
	const struct layer_entry *a = layer_entries(l, &count);
	const struct layer_entry *b = layer_entries(c, &other);

	for (size_t i = 0; i < count && i < other; i++)
		if (!same_entry(&a[i], &b[i]))
			return layer_refuse(why, -EBADMSG, "the compact index "
			    "differs from the index at %.150s", a[i].path);
	return count == other ? 0 : layer_refuse(why, -EBADMSG, "the compact "
	    "index has %zu entries, but the index has %zu", other, count);
}

static bool
same_stored(const struct toc_stored *a, const struct toc_stored *b)
{
	return a->length == b->length && (a->length == 0 ||
	    (a->offset == b->offset &&
	    memcmp(a->digest, b->digest, LAYER_DIGEST) == 0));
}

/* Compares the positions of the units, and those of other parts. */
static int
compare_places(const struct layer *l, const struct layer *c,
    char why[LAYER_WHY])
{
	const struct toc *a = l->state, *b = c->state;
	bool same = l->index.unit_count == c->index.unit_count &&
	    a->chunk_count == b->chunk_count && a->prefetch == b->prefetch &&
	    same_stored(&a->trace, &b->trace);

	for (size_t i = 0; same && i < l->index.unit_count; i++)
		same = a->units[i].offset == b->units[i].offset &&
		    l->index.units[i].content == c->index.units[i].content;
	return same ? 0 : layer_refuse(why, -EBADMSG, "the compact index and "
	    "the index disagree on where data is stored");
}

/* Compares a digest block, which is fetched into buf. */
static int
compare_block(const struct layer *l, const struct layer *c, size_t block,
    uint8_t *buf, char why[LAYER_WHY])
{
	const struct toc *a = l->state, *b = c->state;
	uint8_t sum[DIGEST_MAX];
	struct layer_range r = { .offset = b->blocks.first + block *
		b->blocks.stride, .buf = buf,
		.length = toc_block_length(b->chunk_count, block) };
	int rc = c->blobs->read(c->blobs->arg, &r, 1);

	if (rc == 0)
		rc = digest_sha256(buf, (size_t)r.length, sum);
	if (rc != 0)
		return layer_refuse(why, rc, "the digests cannot be read: %s",
		    strerror(-rc));
	if (memcmp(sum, b->blocks.digests[block], LAYER_DIGEST) != 0)
		return layer_refuse(why, -EBADMSG, "the digests from chunk "
		    "%zu do not match the compact index", block * TOC_BLOCK);
	return memcmp(buf, a->digests[block * TOC_BLOCK],
	    (size_t)r.length) == 0 ? 0 : layer_refuse(why, -EBADMSG,
	    "the digests from chunk %zu differ from the index",
	    block * TOC_BLOCK);
}

int
layer_check_compact(const struct layer *l, char why[LAYER_WHY])
{
	const struct toc *t = l->state;
	struct layer_expect e = { .kind = layer_kind_name(layer_kind(l)) };
	uint8_t block[TOC_BLOCK * LAYER_DIGEST];
	struct layer *c;
	int rc;

	if (toc_wrapping_of(layer_kind(l)) == NULL || t->compact.length == 0)
		return 0;
	e.compact_digest = t->compact.digest;
	e.compact_offset = t->compact.offset;
	e.compact_length = t->compact.length;
	rc = layer_open(&c, l->blobs, &e, why);
	if (rc != 0)
		return rc;
	rc = compare_entries(l, c, why);
	if (rc == 0)
		rc = compare_places(l, c, why);
	for (size_t i = 0; rc == 0 && i * TOC_BLOCK < t->chunk_count; i++)
		rc = compare_block(l, c, i, block, why);
	layer_close(c);
	return rc;
}
