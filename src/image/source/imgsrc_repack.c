/*
 * imgsrc_repack.c - a squashfs image as the source of another image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tree is copied with all contents of its inodes.  Each data block is
 * recompressed once, in the order of the old image.  Files that shared blocks
 * still do so, and the blocks of a file remain contiguous.
 *
 * Units (image/squashfs/write/data.h) are the fragment blocks by number, then
 * the blocks of each file.
 */
#include "imgsrc_repack.h"

#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int
imgsrc_repack_refuse(struct imgsrc_repack *r, const char *path,
    const char *why)
{
	return imgsrc_fail(r->to, -EBADMSG, "%s: %s%s%s", r->path, path,
	    *path == '\0' ? "" : ": ", why);
}

const char *
imgsrc_repack_path(struct imgsrc_repack *r, size_t number)
{
	const char *path = sq_file_path(&r->f, number);

	return path == NULL ? "" : path;
}

void
imgsrc_repack_take_flags(const struct sq_facts *f, struct sqw_data_options *d,
    struct sqt_image_options *t)
{
	d->block = f->block;
	d->raw_data = (f->flags & SQUASHFS_RAW_DATA) != 0;
	d->raw_fragments = (f->flags & SQUASHFS_RAW_FRAGMENTS) != 0;
	d->no_fragments = (f->flags & SQUASHFS_NO_FRAGMENTS) != 0;
	d->tails = (f->flags & SQUASHFS_ALWAYS_FRAGMENTS) != 0;
	d->no_duplicates = (f->flags & SQUASHFS_DEDUPLICATED) == 0;
	t->raw_ids = (f->flags & SQUASHFS_RAW_IDS) != 0;
	t->raw_inodes = (f->flags & SQUASHFS_RAW_INODES) != 0;
	t->raw_xattrs = (f->flags & SQUASHFS_RAW_XATTRS) != 0;
	t->no_export = !f->exports;
}

/* Blocks */

/* The memory used by a unit: its size, start and fragment block. */
enum { UNIT_B = sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint32_t) };

static bool
has_old_data(const struct imgsrc_repack *r, size_t n, struct sq_entry *e)
{
	sq_get(r->m, n, e);
	return S_ISREG(e->mode) && e->size > 0 && e->first == n;
}

static int
by_old_place(const void *a, const void *b)
{
	const struct sqw_old *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * Counts blocks and units.  Returns 0, or -EBADMSG after reporting that their
 * lists exceed the memory limit.
 */
static int
count_blocks(struct imgsrc_repack *r)
{
	const struct sq_image *m = r->m;
	uint64_t left = sq_memory_left(m);
	struct sq_entry e;

	r->count = r->units = sq_facts(m)->fragments;
	for (size_t n = 1; n < sq_count(m); n++) {
		if (!has_old_data(r, n, &e))
			continue;
		r->units += e.blocks;
		for (uint32_t k = 0; k < e.blocks; k++)
			r->count += sq_word(&e, k) != 0;
	}
	if (r->count <= left / sizeof(*r->old) && r->units <=
	    (left - r->count * sizeof(*r->old)) / UNIT_B)
		return 0;
	return imgsrc_repack_refuse(r, "", "the block lists need more memory "
	    "than --memory allows");
}

static const struct sqw_old *
find_block(const struct imgsrc_repack *r, uint64_t at)
{
	struct sqw_old key = { .at = at };

	return bsearch(&key, r->old, r->count, sizeof(*r->old), by_old_place);
}

/* The blocks are listed without duplicates, and must not overlap. */
int
imgsrc_repack_list(struct imgsrc_repack *r)
{
	const struct sq_image *m = r->m;
	struct sq_entry e;
	size_t kept = 0;

	r->old = sys_malloc((r->count + 1) * sizeof(*r->old));
	if (r->old == NULL)
		return imgsrc_no_memory(r->to);
	r->count = 0;
	for (uint32_t k = 0; k < sq_facts(m)->fragments; k++) {
		struct sqw_old b = { .is_fragment = true };

		sq_fragment(m, k, &b.at, &b.word);
		r->old[r->count++] = b;
	}
	for (size_t n = 1; n < sq_count(m); n++) {
		uint64_t at;

		if (!has_old_data(r, n, &e))
			continue;
		at = e.start;
		for (uint32_t k = 0; k < e.blocks; k++) {
			struct sqw_old b = { .at = at, .word = sq_word(&e, k) };

			at += sq_word_len(b.word);
			if (b.word == 0)
				continue;
			b.want = sq_block_len(m, &e, k);
			r->old[r->count++] = b;
			r->to->total_B += b.want;
		}
	}
	if (r->count > 0)
		qsort(r->old, r->count, sizeof(*r->old), by_old_place);
	for (size_t i = 0; i < r->count; i++) {
		const struct sqw_old *b = &r->old[i];
		const struct sqw_old *last = kept == 0 ? NULL :
		    &r->old[kept - 1];

		if (last != NULL && last->at == b->at) {
			if (last->word != b->word || last->want != b->want ||
			    last->is_fragment != b->is_fragment)
				return imgsrc_repack_refuse(r, "", "two "
				    "different blocks start at the same "
				    "offset");
			continue;
		}
		if (last != NULL && b->at - last->at <
		    sq_word_len(last->word))
			return imgsrc_repack_refuse(r, "", "blocks overlap");
		r->old[kept++] = *b;
	}
	r->count = kept;
	return 0;
}

/* Describes the data of a file in the new image, starting at unit `unit`. */
static void
give_file(struct imgsrc_repack *r, size_t n, const struct sq_entry *e,
    uint32_t *unit)
{
	struct sqw_data *d = &r->to->data;
	bool tail = sq_tail_len(r->m, e) > 0;
	uint64_t at = e->start, start = 0;
	size_t lo = 0, hi = r->count, mid;
	uint32_t first = *unit;

	d->of[r->ids[n]] = (struct sqw_position){ .unit = first,
		.blocks = e->blocks, .tail_unit = e->fragment,
		.tail_at = e->tail_at, .tail = tail,
		.dense = r->keeps && e->dense };
	for (uint32_t k = 0; k < e->blocks; k++, (*unit)++) {
		uint32_t word = sq_word(e, k);
		const struct sqw_old *b = word == 0 ? NULL :
		    find_block(r, at);

		d->fragment[*unit] = SQUASHFS_NONE;
		d->sizes[*unit] = b == NULL ? 0 : b->size;
		d->starts[*unit] = b == NULL ? 0 : b->start;
		if (start == 0 && b != NULL)
			start = b->start;
		at += sq_word_len(word);
	}
	/* a file that consists only of holes starts with the next block */
	while (start == 0 && lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->old[mid].at < e->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (start == 0)
		start = lo < r->count ? r->old[lo].start : d->end;
	if (e->blocks > 0)
		d->starts[first] = start;
}

int
imgsrc_repack_give(struct imgsrc_repack *r)
{
	struct sqw_data *d = &r->to->data;
	uint32_t fragments = sq_facts(r->m)->fragments, unit = 0, word;
	size_t units = r->units;
	struct sq_entry e;

	if (units >= UINT32_MAX)
		return imgsrc_repack_refuse(r, "", "too many blocks");
	d->ids = r->to->tree.count;
	d->of = sys_calloc(d->ids, sizeof(*d->of));
	d->sizes = sys_malloc((units + 1) * sizeof(*d->sizes));
	d->starts = sys_malloc((units + 1) * sizeof(*d->starts));
	d->fragment = sys_malloc((units + 1) * sizeof(*d->fragment));
	if (d->of == NULL || d->sizes == NULL || d->starts == NULL ||
	    d->fragment == NULL)
		return imgsrc_no_memory(r->to);
	d->units = units;
	d->cap = d->fragment_cap = units + 1;
	d->fragments = fragments;
	for (; unit < fragments; unit++) {
		const struct sqw_old *b;
		uint64_t at;

		sq_fragment(r->m, unit, &at, &word);
		b = find_block(r, at);
		d->fragment[unit] = unit;
		d->sizes[unit] = b->size;
		d->starts[unit] = b->start;
	}
	for (size_t n = 1; n < sq_count(r->m); n++)
		if (has_old_data(r, n, &e))
			give_file(r, n, &e, &unit);
	return 0;
}

/* Extended attributes, whose sets are added in order */

static int
by_old(const void *a, const void *b)
{
	const struct imgsrc_repack_set *x = a, *y = b;

	if (x->old != y->old)
		return x->old < y->old ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int
add_old_xattr(void *arg, const char *name, const void *value, size_t len)
{
	struct imgsrc_repack *r = arg;

	return sqt_xattrs_add(r->to->xattrs, name, value, len);
}

/* Adds the sets in use, without duplicates, in order. */
static int
add_sets(struct imgsrc_repack *r)
{
	struct sqt_xattrs *to = r->to->xattrs;
	size_t count = sq_count(r->m), kept = 0;
	struct sq_entry e;

	if (to == NULL)
		return 0;
	r->sets = sys_malloc(count * sizeof(*r->sets));
	if (r->sets == NULL)
		return imgsrc_no_memory(r->to);
	for (size_t n = 0; n < count; n++) {
		sq_get(r->m, n, &e);
		if (e.xattr != SQUASHFS_NONE)
			r->sets[r->set_count++] = (struct imgsrc_repack_set){
				.old = e.xattr, .name = n };
	}
	if (r->set_count > 0)
		qsort(r->sets, r->set_count, sizeof(*r->sets), by_old);
	for (size_t i = 0; i < r->set_count; i++)
		if (kept == 0 || r->sets[kept - 1].old != r->sets[i].old)
			r->sets[kept++] = r->sets[i];
	r->set_count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct imgsrc_repack_set *s = &r->sets[i];
		int rc = sqt_xattrs_begin(to);

		if (rc == 0)
			rc = sq_xattrs(r->m, s->old, add_old_xattr, r);
		if (rc == 0)
			rc = sqt_xattrs_end(to, &s->made);
		if (rc != 0)
			return imgsrc_repack_refuse(r,
			    imgsrc_repack_path(r, s->name), rc == -EBADMSG ?
			    "the extended attributes cannot be read" :
			    strerror(-rc));
	}
	return 0;
}

/* Returns the new index of a set; SQUASHFS_NONE remains SQUASHFS_NONE. */
static uint32_t
set_of(const struct imgsrc_repack *r, uint32_t old)
{
	size_t lo = 0, hi = r->set_count;

	if (old == SQUASHFS_NONE || hi == 0)
		return SQUASHFS_NONE;
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->sets[mid].old <= old)
			lo = mid;
		else
			hi = mid;
	}
	return r->sets[lo].made;
}

/* Names */

/* Adds a node below r->under. */
static int
add_under(struct imgsrc_repack *r, const char *path,
    const struct sqw_attr *attr, uint32_t *id)
{
	size_t room;
	char *whole;
	int rc;

	if (r->under == NULL)
		return sqw_tree_add(&r->to->tree, path, attr, id);
	room = strlen(r->under) + strlen(path) + 2;
	whole = sys_malloc(room);
	if (whole == NULL)
		return -ENOMEM;
	snprintf(whole, room, "%s%s%s", r->under, *path == '\0' ? "" : "/",
	    path);
	rc = sqw_tree_add(&r->to->tree, whole, attr, id);
	sys_free(whole);
	return rc;
}

static int
add_old_name(struct imgsrc_repack *r, size_t n, const struct sq_entry *e)
{
	struct sqw_attr attr = { .mode = e->mode, .uid = e->uid,
		.gid = e->gid, .rdev = e->rdev, .xattr = set_of(r, e->xattr),
		.size = S_ISREG(e->mode) || S_ISLNK(e->mode) ? e->size : 0 };
	const char *path = sq_file_path(&r->f, n);
	char *target = NULL;
	int rc;

	if (path == NULL)
		return imgsrc_no_memory(r->to);
	if (e->mode == 0 || !e->has_owner)
		return imgsrc_repack_refuse(r, path,
		    "the owner cannot be read");
	if (S_ISLNK(e->mode)) {
		target = strcopy_part(e->target, (size_t)e->size);
		if (target == NULL)
			return imgsrc_no_memory(r->to);
		attr.target = target;
	}
	if (r->keeps)
		attr.mtime = e->mtime;
	else
		imgsrc_adjust(r->to, &attr, e->mtime);
	rc = add_under(r, path, &attr, &r->ids[n]);
	sys_free(target);
	return rc != 0 ? imgsrc_repack_refuse(r, path, strerror(-rc)) : 0;
}

static void
report_damage(void *arg, const char *place, const char *why)
{
	struct imgsrc_repack *r = arg;

	imgsrc_tell(r->to, IMGSRC_ERROR, "%s: %s: %s", r->path, place, why);
}

int
imgsrc_repack_add_names(struct imgsrc_repack *r,
    const struct sq_file_options *place)
{
	struct imgsrc_image *to = r->to;
	struct sq_file_options o = *place;
	struct sq_entry e;
	const char *why;
	size_t count;
	int rc;

	o.path = r->path;
	o.threads = to->pack.threads;
	o.memory = to->pack.memory;
	o.report = report_damage;
	o.arg = r;
	rc = sq_file_open(&r->f, &o, &why);
	r->m = r->f.image;
	if (rc != 0)
		return imgsrc_fail(to, rc, "%s: %s", r->path, why);
	if (r->f.refused) {
		to->told = true;
		return -EBADMSG;
	}
	rc = count_blocks(r);
	if (rc == 0)
		rc = add_sets(r);
	if (rc != 0)
		return rc;
	count = sq_count(r->m);
	r->ids = sys_malloc(count * sizeof(*r->ids));
	if (r->ids == NULL)
		return imgsrc_no_memory(to);
	r->ids[0] = 0;
	for (size_t n = r->keeps && r->under == NULL; n < count; n++) {
		sq_get(r->m, n, &e);
		rc = add_old_name(r, n, &e);
		if (rc != 0)
			return rc;
		if (e.first != n)
			sqw_tree_link(&to->tree, r->ids[n], r->ids[e.first]);
	}
	return 0;
}

int
imgsrc_repack_open_tree(struct imgsrc_repack *r, struct imgsrc_image *to)
{
	struct sq_file_options place = { .has_offset = to->o.has_offset,
		.offset = to->o.offset };
	int rc;

	r->to = to;
	r->path = to->o.path;
	rc = imgsrc_repack_add_names(r, &place);
	if (rc == 0)
		rc = imgsrc_complete(to);
	if (rc != 0)
		return rc;
	if (to->content_count > 0)
		return imgsrc_fail(to, -ENOTSUP, "%s: files with content "
		    "cannot be added to an image", to->o.path);
	/* use the time of the old image, not of its newest inode */
	to->newest = sq_facts(r->m)->mtime;
	return 0;
}

void
imgsrc_repack_close_tree(struct imgsrc_repack *r)
{
	sq_file_close(&r->f);
	sys_free(r->ids);
	sys_free(r->sets);
	sys_free(r->old);
}

/* The content of old files */

int
imgsrc_repack_reader_open(struct imgsrc_repack_reader *x,
    const struct sq_image *m)
{
	*x = (struct imgsrc_repack_reader){ .m = m,
		.fragment_number = SQUASHFS_NONE,
		.fragment = sys_malloc(sq_facts(m)->block) };
	return x->fragment == NULL ? -ENOMEM : sq_decoder_open(&x->decoder, m);
}

void
imgsrc_repack_reader_close(struct imgsrc_repack_reader *x)
{
	sq_decoder_close(x->decoder);
	sys_free(x->fragment);
}

void
imgsrc_repack_reader_begin(struct imgsrc_repack_reader *x, size_t number)
{
	sq_get(x->m, number, &x->e);
	x->k = 0;
	x->at = x->e.start;
}

/* The next block of the current file. */
static const char *
next_block(struct imgsrc_repack_reader *x, void *buf, size_t len)
{
	const char *why = "a block has an unexpected length";
	uint32_t word = sq_word(&x->e, x->k);

	if (sq_block_len(x->m, &x->e, x->k) != len)
		return why;
	if (word == 0)
		memset(buf, 0, len);
	else if (sq_unpack(x->decoder, x->at, word, len, buf, &why) < 0)
		return why;
	x->k++;
	x->at += sq_word_len(word);
	return NULL;
}

const char *
imgsrc_repack_reader_next(struct imgsrc_repack_reader *x, void *buf,
    size_t len, uint64_t *at)
{
	const char *why;
	uint32_t word;

	*at = x->at;
	if (x->k < x->e.blocks)
		return next_block(x, buf, len);
	sq_fragment(x->m, x->e.fragment, at, &word);
	if (x->fragment_number != x->e.fragment) {
		x->fragment_number = SQUASHFS_NONE;
		x->fragment_B = sq_unpack(x->decoder, *at, word, 0,
		    x->fragment, &why);
		if (x->fragment_B < 0)
			return why;
		x->fragment_number = x->e.fragment;
	}
	if ((uint64_t)x->e.tail_at + len > (uint64_t)x->fragment_B)
		return "the fragment block ends before the file does";
	memcpy(buf, x->fragment + x->e.tail_at, len);
	return NULL;
}

/* Data */

static int
repack_write(void *state, int fd, uint64_t at)
{
	struct imgsrc_repack *r = state;
	struct imgsrc_image *to = r->to;
	struct sqw_repack run = { .image = r->m, .blocks = r->old,
		.count = r->count, .fd = r->copies ? r->f.fd : -1,
		.offset = r->f.offset };
	char why[256];
	int rc = sqw_repack(&run, &to->data, &to->pack, fd, at,
	    &to->progress);

	if (run.why != NULL) {
		snprintf(why, sizeof(why), "offset %llu: %s",
		    (unsigned long long)run.bad_at, run.why);
		return imgsrc_repack_refuse(r, "", why);
	}
	return rc != 0 ? rc : imgsrc_repack_give(r);
}

static int
repack_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_repack *r = sys_calloc(1, sizeof(*r));
	const struct sq_facts *f;
	char why[128];
	int rc;

	(void)files;
	*state = r;
	if (r == NULL)
		return imgsrc_no_memory(to);
	rc = imgsrc_repack_open_tree(r, to);
	if (rc != 0)
		return rc;
	/* use the values of the old image */
	f = sq_facts(r->m);
	if (to->o.has_block && to->pack.block != f->block) {
		snprintf(why, sizeof(why), "the block size is %u and cannot be "
		    "changed", f->block);
		return imgsrc_repack_refuse(r, "", why);
	}
	if (to->o.exclude_count > 0 || to->pack.no_fragments ||
	    to->pack.no_duplicates)
		return imgsrc_repack_refuse(r, "", "an image keeps its tree "
		    "and blocks: --exclude, --no-fragments and "
		    "--no-duplicates cannot be used");
	to->pack.block = f->block;
	to->pack.no_fragments = (f->flags & SQUASHFS_NO_FRAGMENTS) != 0;
	to->pack.no_duplicates = (f->flags & SQUASHFS_DEDUPLICATED) == 0;
	to->tables.no_export = to->tables.no_export || !f->exports;
	/* what was made with the same settings is copied */
	r->copies = imgsrc_has_settings(&r->f, &to->pack);
	return imgsrc_repack_list(r);
}

static void
repack_close(void *state)
{
	struct imgsrc_repack *r = state;

	if (r == NULL)
		return;
	imgsrc_repack_close_tree(r);
	sys_free(r);
}

const struct imgsrc_source imgsrc_repack = {
	.open = repack_open, .write = repack_write, .close = repack_close
};
