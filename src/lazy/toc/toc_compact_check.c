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

int
layer_check_compact(const struct layer *l, char why[LAYER_WHY])
{
	const struct toc *t = l->state, *u;
	struct layer_expect e = { .kind = layer_kind_name(layer_kind(l)) };
	uint8_t block[TOC_BLOCK * LAYER_DIGEST], sum[DIGEST_MAX];
	const struct layer_entry *a, *b;
	size_t count, other;
	struct layer *c;
	bool same;
	int rc;

	if (toc_wrapping_of(layer_kind(l)) == NULL || t->compact.length == 0)
		return 0;
	e.compact_digest = t->compact.digest;
	e.compact_offset = t->compact.offset;
	e.compact_length = t->compact.length;
	rc = layer_open(&c, l->blobs, &e, why);
	if (rc != 0)
		return rc;
	rc = -EBADMSG;
	a = layer_entries(l, &count);
	b = layer_entries(c, &other);
	for (size_t i = 0; i < count && i < other; i++)
		if (!same_entry(&a[i], &b[i])) {
			layer_refuse(why, rc, "the compact index differs from "
			    "the index at %.150s", a[i].path);
			goto out;
		}
	if (count != other) {
		layer_refuse(why, rc, "the compact index has %zu entries, but "
		    "the index has %zu", other, count);
		goto out;
	}
	/* the positions of the units, and those of other parts */
	u = c->state;
	same = l->index.unit_count == c->index.unit_count &&
	    t->chunk_count == u->chunk_count && t->prefetch == u->prefetch &&
	    t->trace.length == u->trace.length && (t->trace.length == 0 ||
	    (t->trace.offset == u->trace.offset &&
	    memcmp(t->trace.digest, u->trace.digest, LAYER_DIGEST) == 0));
	for (size_t i = 0; same && i < l->index.unit_count; i++)
		same = t->units[i].offset == u->units[i].offset &&
		    l->index.units[i].content == c->index.units[i].content;
	if (!same) {
		layer_refuse(why, rc, "the compact index and the index "
		    "disagree on where data is stored");
		goto out;
	}
	for (size_t n = 0; n < t->chunk_count; n += TOC_BLOCK) {
		const uint8_t *digest = u->blocks.digests[n / TOC_BLOCK];
		struct layer_range r = { .offset = u->blocks.first +
			n / TOC_BLOCK * u->blocks.stride, .buf = block,
			.length = toc_block_length(u->chunk_count,
			n / TOC_BLOCK) };

		rc = c->blobs->read(c->blobs->arg, &r, 1);
		if (rc == 0)
			rc = digest_sha256(block, (size_t)r.length, sum);
		if (rc != 0) {
			layer_refuse(why, rc, "the digests cannot be read: %s",
			    strerror(-rc));
			goto out;
		}
		rc = -EBADMSG;
		if (memcmp(sum, digest, LAYER_DIGEST) != 0) {
			layer_refuse(why, rc, "the digests from chunk %zu do "
			    "not match the compact index", n);
			goto out;
		}
		if (memcmp(block, t->digests[n], (size_t)r.length) != 0) {
			layer_refuse(why, rc, "the digests from chunk %zu "
			    "differ from the index", n);
			goto out;
		}
	}
	rc = 0;
out:
	layer_close(c);
	return rc;
}
