/*
 * imgsrc_rebuild.c - rebuilding an image from its files, and comparing the two
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are in the order of their data in the image; small files are in the
 * order of their positions in the fragment blocks.  Cutting them by the rules
 * of image/squashfs/write produces the same blocks if the image was made by
 * these rules.  Data shared in the image is read once and shared again.
 *
 * Where tails of larger files share fragment blocks, as gensquashfs makes them,
 * files are in the order of the tree instead.
 */
#include "imgsrc_repack.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/write/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct old_file {
	uint64_t at;			/* position of its blocks or fragment
					 * block */
	uint64_t stored;		/* size of its blocks; 0: only holes */
	uint32_t number, tail_at;
	bool small;			/* the whole file is in a fragment
					 * block */
};

struct rebuild {
	struct imgsrc_repack r;
	struct imgsrc_repack_reader reader;
	struct old_file *pieces;	/* in data order */
	size_t count, next;
	bool cut;			/* the fragment block ends here */
	bool in_tree;			/* pieces are in the order of the tree,
					 * and duplicates are found again */
};

/* Settings */

/*
 * Returns 1 if all blocks of the fragment table are stored uncompressed, 0 if
 * not, or -EBADMSG.
 */
static int
has_raw_fragment_table(const struct sq_file *f)
{
	uint64_t each = SQUASHFS_META_B / SQUASHFS_FRAGMENT_B;
	uint64_t blocks = (sq_facts(f->image)->fragments + each - 1) / each;
	uint8_t word[8], head[SQUASHFS_META_HEADER_B];
	uint64_t table;

	if (fdio_pread(f->fd, word, 8, (off_t)(f->offset +
	    SQUASHFS_S_FRAGMENT_TABLE)) != 8)
		return -EBADMSG;
	table = f->offset + load_le64(word);
	for (uint64_t k = 0; k < blocks; k++) {
		if (fdio_pread(f->fd, word, 8, (off_t)(table + k *
		    SQUASHFS_POINTER_B)) != 8 || fdio_pread(f->fd, head,
		    sizeof(head), (off_t)(f->offset + load_le64(word))) !=
		    sizeof(head))
			return -EBADMSG;
		if ((load_le16(head) & SQUASHFS_META_RAW) == 0)
			return 0;
	}
	return 1;
}

/* Returns whether the rest of a file with blocks is in a fragment block. */
static bool
has_tails(const struct sq_image *m)
{
	struct sq_entry e;

	for (size_t n = 1; n < sq_count(m); n++) {
		sq_get(m, n, &e);
		if (S_ISREG(e.mode) && e.blocks > 0 &&
		    e.fragment != SQUASHFS_NONE)
			return true;
	}
	return false;
}

/* Uses the settings found in the image, unless a level is given. */
static int
use_settings(struct rebuild *b)
{
	const struct sq_facts *f = sq_facts(b->r.m);
	struct imgsrc_image *to = b->r.to;
	struct sqw_data_options *d = &to->pack;
	struct sqt_image_options *t = &to->tables;
	int given = d->level, n;
	char padding[SQW_RECORD_MAX];

	imgsrc_repack_take_flags(f, d, t);
	d->tails = t->gensquashfs ? has_tails(b->r.m) : d->tails && d->exact;
	/* a tail is where its file comes, not where its blocks are */
	b->in_tree = t->gensquashfs && d->tails;
	t->raw_ids = t->raw_ids && d->exact;
	t->xattrs_unused = d->exact ? f->xattrs_unused : 0;
	/*
	 * Earlier versions set ALWAYS_FRAGMENTS whenever there were fragment
	 * blocks, and RAW_FRAGMENTS also if no fragment block could be
	 * compressed.  Then only the table shows whether compression was
	 * requested.
	 */
	if (!d->exact && (f->flags & SQUASHFS_ALWAYS_FRAGMENTS) != 0) {
		t->more_flags = f->flags & (SQUASHFS_ALWAYS_FRAGMENTS |
		    SQUASHFS_RAW_FRAGMENTS);
		if (d->raw_fragments) {
			n = has_raw_fragment_table(&b->r.f);
			if (n < 0)
				return imgsrc_repack_refuse(&b->r, "", "the "
				    "fragment table cannot be read");
			d->raw_fragments = n == 1;
		}
	}
	if (sqw_settings_read_more(f->compressor, f->settings, f->settings_B,
	    f->block, &d->method, &d->level, &d->dictionary,
	    &t->strategies) != 0)
		return imgsrc_repack_refuse(&b->r, "", "sqpack does not "
		    "support the image's compressor options");
	n = sq_file_padding(&b->r.f, padding, sizeof(padding));
	if (n < 0)
		return imgsrc_repack_refuse(&b->r, "", strerror(-n));
	if (sqw_record_read(padding, (size_t)n, d) < 0)
		return imgsrc_repack_refuse(&b->r, "", "this version does not "
		    "support the settings in the padding");
	t->no_pad = n == 0 && f->used_B % SQUASHFS_PAD_B != 0;
	if (given != 0 && (d->method->filters || given < d->method->level_min ||
	    given > d->method->level_max))
		return imgsrc_repack_refuse(&b->r, "", "the compressor has no "
		    "such level");
	if (given != 0)
		d->level = given;
	if ((f->flags & SQUASHFS_NO_XATTRS) != 0) {
		sqt_xattrs_close(to->xattrs);
		to->xattrs = NULL;
	}
	return 0;
}

/* Order */

static int
by_data_place(const void *a, const void *b)
{
	const struct old_file *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->small != y->small)
		return x->small ? 1 : -1;
	/* a hole has the position of the next block */
	if ((x->stored == 0) != (y->stored == 0))
		return x->stored == 0 ? -1 : 1;
	if (x->tail_at != y->tail_at)
		return x->tail_at < y->tail_at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns whether a piece has the same data as the previous one. */
static bool
is_shared(const struct rebuild *b, size_t i)
{
	const struct old_file *p = &b->pieces[i], *q = p - 1;
	struct sq_entry x, y;

	if (i == 0 || p->at != q->at || p->small != q->small ||
	    p->tail_at != q->tail_at || p->stored != q->stored)
		return false;
	sq_get(b->r.m, p->number, &x);
	sq_get(b->r.m, q->number, &y);
	return x.size == y.size && memcmp(x.sizes, y.sizes,
	    x.blocks * sizeof(uint32_t)) == 0;
}

/* Files */

static int
rebuild_next(void *arg, struct sqw_file *f)
{
	struct rebuild *b = arg;
	const struct old_file *p;

	while (!b->in_tree && b->next < b->count && is_shared(b, b->next))
		b->next++;
	if (b->next == b->count)
		return 0;
	p = &b->pieces[b->next];
	if (!b->in_tree && !b->cut && p > b->pieces && p[-1].small &&
	    p[-1].at != p->at) {
		b->cut = true;
		return 2;
	}
	b->cut = false;
	b->next++;
	imgsrc_repack_reader_begin(&b->reader, p->number);
	*f = (struct sqw_file){ .id = b->r.ids[p->number],
		.size = b->reader.e.size, .alone = !b->in_tree,
		.dense = b->r.to->pack.exact && b->reader.e.dense };
	return 1;
}

static int
refuse_at(struct rebuild *b, uint64_t at, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "offset %llu: %s",
	    (unsigned long long)at, why);
	return imgsrc_repack_refuse(&b->r, imgsrc_repack_path(&b->r,
	    b->pieces[b->next - 1].number), text);
}

/* Reads the next block; the builder reads one block at a time. */
static int
rebuild_read(void *arg, void *buf, size_t len)
{
	struct rebuild *b = arg;
	uint64_t at;
	const char *why = imgsrc_repack_reader_next(&b->reader, buf, len, &at);

	return why == NULL ? 0 : refuse_at(b, at, why);
}

static int64_t
rebuild_skip(void *arg)
{
	struct imgsrc_repack_reader *x = &((struct rebuild *)arg)->reader;
	uint64_t n = 0;

	for (; x->k < x->e.blocks && sq_word(&x->e, x->k) == 0; x->k++)
		n += sq_block_len(x->m, &x->e, x->k);
	return (int64_t)n;
}

static int
rebuild_rewind(void *arg)
{
	struct imgsrc_repack_reader *x = &((struct rebuild *)arg)->reader;

	x->k = 0;
	x->at = x->e.start;
	return 0;
}

/*
 * Completes the tree: pieces that were not read share the data of the previous
 * piece.
 */
static int
rebuild_finish(void *state)
{
	struct rebuild *b = state;
	struct sqw_data *d = &b->r.to->data;
	size_t ids = b->r.to->tree.count;
	struct sqw_position *of;

	if (d->ids < ids) {
		of = sys_realloc(d->of, ids * sizeof(*of));
		if (of == NULL)
			return imgsrc_no_memory(b->r.to);
		memset(of + d->ids, 0, (ids - d->ids) * sizeof(*of));
		d->of = of;
		d->ids = ids;
	}
	for (size_t i = 1; i < b->count && !b->in_tree; i++)
		if (is_shared(b, i))
			d->of[b->r.ids[b->pieces[i].number]] =
			    d->of[b->r.ids[b->pieces[i - 1].number]];
	return 0;
}

static int
rebuild_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct rebuild *b = sys_calloc(1, sizeof(*b));
	const struct sq_image *m;
	struct sq_entry e;
	uint32_t word;
	int rc;

	*state = b;
	if (b == NULL)
		return imgsrc_no_memory(to);
	*files = (struct sqw_source){ .next = rebuild_next,
		.read = rebuild_read, .skip = rebuild_skip,
		.rewind = rebuild_rewind, .arg = b };
	rc = imgsrc_repack_open_tree(&b->r, to);
	if (rc == 0)
		rc = use_settings(b);
	if (rc != 0)
		return rc;
	m = b->r.m;
	b->pieces = sys_malloc(sq_count(m) * sizeof(*b->pieces));
	if (imgsrc_repack_reader_open(&b->reader, m) != 0 ||
	    b->pieces == NULL)
		return imgsrc_no_memory(to);
	for (size_t n = 1; n < sq_count(m); n++) {
		struct old_file *p = &b->pieces[b->count];

		sq_get(m, n, &e);
		if (!S_ISREG(e.mode) || e.size == 0 || e.first != n)
			continue;
		*p = (struct old_file){ .at = e.start, .number = (uint32_t)n,
			.stored = sq_stored(&e), .tail_at = e.tail_at,
			.small = e.blocks == 0 };
		if (p->small)
			sq_fragment(m, e.fragment, &p->at, &word);
		to->total_B += e.size;
		b->count++;
	}
	if (b->count > 0 && !b->in_tree)
		qsort(b->pieces, b->count, sizeof(*b->pieces), by_data_place);
	return 0;
}

static void
rebuild_close(void *state)
{
	struct rebuild *b = state;

	if (b == NULL)
		return;
	imgsrc_repack_reader_close(&b->reader);
	imgsrc_repack_close_tree(&b->r);
	sys_free(b->pieces);
	sys_free(b);
}

const struct imgsrc_source imgsrc_rebuild = {
	.open = rebuild_open, .finish = rebuild_finish,
	.close = rebuild_close
};

/* Comparing the image with its rebuild */

enum { PIECE = 1 << 18 };

/* Compares the images from an offset onward; x and y have room for PIECE. */
static int
compare_from(const struct sq_file *old, int fd, uint64_t from, uint8_t *x,
    uint8_t *y, struct imgsrc_difference *d)
{
	for (d->at = from;; d->at += PIECE) {
		ssize_t a = fdio_pread(old->fd, x, PIECE,
		    (off_t)(old->offset + d->at));
		ssize_t b = fdio_pread(fd, y, PIECE, (off_t)d->at);
		size_t n = (size_t)(a < b ? a : b), k = 0;

		if (a < 0 || b < 0)
			return (int)(a < 0 ? a : b);
		if (memcmp(x, y, n) != 0)
			while (x[k] == y[k])
				k++;
		else
			k = n;
		if (k < n || a != b) {
			d->at += k;
			d->old_ends = k == (size_t)a;
			d->made_ends = k == (size_t)b;
			return 1;
		}
		if (a < PIECE)
			return 0;
	}
}

/* Returns the first name whose blocks or fragment block contain the byte. */
static size_t
name_at(const struct sq_image *m, uint64_t at)
{
	struct sq_entry e;
	uint64_t from;
	uint32_t word;

	for (size_t n = 1; n < sq_count(m); n++) {
		sq_get(m, n, &e);
		if (!S_ISREG(e.mode) || e.size == 0 || e.lost)
			continue;
		if (at >= e.start && at - e.start < sq_stored(&e))
			return n;
		if (e.fragment == SQUASHFS_NONE)
			continue;
		sq_fragment(m, e.fragment, &from, &word);
		if (at >= from && at - from < sq_word_len(word))
			return n;
	}
	return 0;
}

int
imgsrc_compare(const struct sq_file *old, int fd, struct imgsrc_difference *d)
{
	uint8_t *x = sys_malloc(PIECE), *y = sys_malloc(PIECE);
	uint8_t s[SQUASHFS_SUPER_B] = { 0 };
	int rc = -ENOMEM;

	*d = (struct imgsrc_difference){ .name = 0 };
	if (x == NULL || y == NULL)
		goto out;
	rc = compare_from(old, fd, SQUASHFS_SUPER_B, x, y, d);
	if (rc == 0)
		rc = compare_from(old, fd, 0, x, y, d);
	if (rc != 1)
		goto out;
	d->name = name_at(old->image, d->at);
	if (d->at < SQUASHFS_SUPER_B)
		d->where = "in the superblock";
	else if (fdio_pread(old->fd, s, sizeof(s), (off_t)old->offset) < 0)
		d->where = "in the image";
	else if (d->at >= load_le64(s + SQUASHFS_S_USED))
		d->where = "in the padding";
	else if (d->at >= load_le64(s + SQUASHFS_S_DIR_TABLE))
		d->where = "in the listings or a table after them";
	else if (d->at >= load_le64(s + SQUASHFS_S_INODE_TABLE))
		d->where = "in the inodes";
	else
		d->where = "before the data, or between files";
out:
	sys_free(x);
	sys_free(y);
	return rc;
}

/* A block of a file, or the fragment block with its tail. */
struct piece_of {
	uint32_t k;			/* index of the block */
	bool in_fragment;
	uint64_t at;
	uint32_t word;
};

/* Finds the piece of name n with this index, or else the one that has a byte. */
static bool
find_piece(const struct sq_image *m, size_t n, const struct piece_of *like,
    uint64_t byte, struct piece_of *p)
{
	struct sq_entry e;

	sq_get(m, n, &e);
	*p = (struct piece_of){ .at = e.start };
	for (; p->k < e.blocks; p->k++) {
		p->word = sq_word(&e, p->k);
		if (like != NULL ? !like->in_fragment && like->k == p->k :
		    byte >= p->at && byte - p->at < sq_word_len(p->word))
			return true;
		p->at += sq_word_len(p->word);
	}
	if (e.fragment == SQUASHFS_NONE)
		return false;
	p->in_fragment = true;
	sq_fragment(m, e.fragment, &p->at, &p->word);
	return like != NULL ? like->in_fragment : byte >= p->at &&
	    byte - p->at < sq_word_len(p->word);
}

/* Unpacks a piece.  Returns its size, or -errno. */
static int64_t
unpack_piece(const struct sq_image *m, const struct piece_of *p, uint8_t *out)
{
	struct sq_decoder *decoder = NULL;
	const char *why;
	int64_t n = sq_decoder_open(&decoder, m);

	if (n == 0)
		n = sq_unpack(decoder, p->at, p->word, 0, out, &why);
	sq_decoder_close(decoder);
	return n;
}

static void
ignore_flaw(void *arg, uint64_t at, const char *why)
{
	(void)arg;
	(void)at;
	(void)why;
}

bool
imgsrc_is_recompressed(const struct sq_file *old, int fd,
    const struct imgsrc_difference *d)
{
	const struct sq_image *m = old->image;
	size_t block = sq_facts(m)->block;
	uint8_t *x = sys_malloc(block), *y = sys_malloc(block);
	struct sq_image *made = NULL;
	struct piece_of p, q;
	const char *why;
	int64_t n;
	bool same = false;

	if (x != NULL && y != NULL && d->name != 0 && sq_open(&made, fd, 0, 1,
	    UINT64_MAX, ignore_flaw, NULL, &why) == 0 &&
	    d->name < sq_count(made) &&
	    find_piece(m, d->name, NULL, d->at, &p) &&
	    find_piece(made, d->name, &p, 0, &q) && p.at == q.at) {
		n = unpack_piece(m, &p, x);
		same = n > 0 && unpack_piece(made, &q, y) == n &&
		    memcmp(x, y, (size_t)n) == 0;
	}
	sq_close(made);
	sys_free(x);
	sys_free(y);
	return same;
}
