/*
 * imgsrc_append.c - adding to an image instead of beginning a new one
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_append.h"

#include "imgsrc_repack.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 20 };

/* An old file with data, for comparison with new ones. */
struct older {
	uint64_t size;
	uint32_t number;		/* in the old image */
	bool given;
};

struct imgsrc_append {
	struct imgsrc_repack r;
	uint64_t from, until;		/* the old data, within the image */
	struct older *files;		/* by size */
	size_t count;
	struct imgsrc_repack_reader reader;
	struct sqw_older older;
};

/* Uses the settings of the old image. */
static int
use_old_settings(struct imgsrc_append *a)
{
	const struct sq_facts *f = sq_facts(a->r.m);
	struct imgsrc_image *to = a->r.to;
	struct sqw_data_options *d = &to->pack;

	if (sqw_settings_read_more(f->compressor, f->settings, f->settings_B,
	    f->block, &d->method, &d->level, &d->dictionary,
	    &to->tables.strategies) != 0)
		return imgsrc_repack_refuse(&a->r, "", "sqpack does not "
		    "support the image's compressor options");
	/* for gzip there is only our encoder */
	d->exact = f->compressor != SQUASHFS_GZIP;
	imgsrc_repack_take_flags(f, d, &to->tables);
	if ((f->flags & SQUASHFS_NO_XATTRS) != 0) {
		sqt_xattrs_close(to->xattrs);
		to->xattrs = NULL;
	}
	return 0;
}

/* Finds the region with the old data: from the superblock to the inodes. */
static int
find_region(struct imgsrc_append *a)
{
	const struct sq_facts *f = sq_facts(a->r.m);
	uint8_t word[8];
	ssize_t n = fdio_pread(a->r.f.fd, word, sizeof(word),
	    (off_t)(a->r.f.offset + SQUASHFS_S_INODE_TABLE));

	if (n != sizeof(word))
		return imgsrc_repack_refuse(&a->r, "", n < 0 ?
		    strerror((int)-n) : "the superblock cannot be read");
	a->until = load_le64(word);
	a->from = SQUASHFS_SUPER_B + (f->settings_B > 0 ?
	    SQUASHFS_META_HEADER_B + f->settings_B : 0);
	for (size_t i = 0; i < a->r.count; i++) {
		const struct sqw_old *b = &a->r.old[i];

		if (b->at < a->from || b->at > a->until ||
		    sq_word_len(b->word) > a->until - b->at)
			return imgsrc_repack_refuse(&a->r, "",
			    "data is not between superblock and inodes");
	}
	if (a->until < a->from)
		return imgsrc_repack_refuse(&a->r, "",
		    "the inodes overlap the superblock");
	return 0;
}

static int
by_older_size(const void *a, const void *b)
{
	const struct older *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Lists the old files that new ones can be equal to. */
static int
list_files(struct imgsrc_append *a)
{
	const struct sq_image *m = a->r.m;
	struct sq_entry e;

	a->files = sys_malloc(sq_count(m) * sizeof(*a->files));
	if (a->files == NULL)
		return imgsrc_no_memory(a->r.to);
	for (size_t n = 1; n < sq_count(m); n++) {
		sq_get(m, n, &e);
		if (S_ISREG(e.mode) && e.size > 0 && e.first == n && !e.lost)
			a->files[a->count++] = (struct older){ .size = e.size,
				.number = (uint32_t)n };
	}
	if (a->count > 0)
		qsort(a->files, a->count, sizeof(*a->files), by_older_size);
	return 0;
}

int
imgsrc_append_open(struct imgsrc_append **out, struct imgsrc_image *to)
{
	struct imgsrc_append *a = sys_calloc(1, sizeof(*a));
	struct sq_file_options place = { .has_offset = true,
		.offset = to->tables.offset };
	int rc;

	*out = a;
	if (a == NULL)
		return imgsrc_no_memory(to);
	a->r.to = to;
	a->r.path = to->o.append;
	a->r.keeps = true;
	a->r.under = to->o.append_under;
	a->r.f.fd = -1;
	rc = imgsrc_repack_add_names(&a->r, &place);
	if (rc == 0)
		rc = use_old_settings(a);
	if (rc == 0)
		rc = imgsrc_repack_list(&a->r);
	if (rc == 0)
		rc = find_region(a);
	if (rc == 0)
		rc = list_files(a);
	if (rc == 0 && imgsrc_repack_reader_open(&a->reader, a->r.m) != 0)
		rc = imgsrc_no_memory(to);
	to->kept = (uint32_t)to->tree.count;
	/* progress is that of the new files */
	to->total_B = 0;
	return rc;
}

void
imgsrc_append_close(struct imgsrc_append *a)
{
	if (a == NULL)
		return;
	imgsrc_repack_reader_close(&a->reader);
	imgsrc_repack_close_tree(&a->r);
	sys_free(a->files);
	sys_free(a);
}

bool
imgsrc_is_kept(const struct imgsrc_image *to, uint32_t id)
{
	return id != 0 && id < to->kept;
}

/* Copies len bytes of the old file to fd, at its offset. */
static int
copy_bytes(struct imgsrc_append *a, int fd, uint64_t at, uint64_t len)
{
	uint8_t *piece = sys_malloc(PIECE);
	int rc = piece == NULL ? -ENOMEM : 0;

	while (rc == 0 && len > 0) {
		size_t want = len < PIECE ? (size_t)len : PIECE;
		ssize_t n = fdio_pread(a->r.f.fd, piece, want, (off_t)at);

		if (n < 0 || (size_t)n < want) {
			sys_free(piece);
			return imgsrc_repack_refuse(&a->r, "", n < 0 ?
			    strerror((int)-n) : "the image is truncated");
		}
		rc = fdio_write(fd, piece, want);
		at += want;
		len -= want;
	}
	sys_free(piece);
	return rc;
}

int
imgsrc_append_head(struct imgsrc_append *a, int fd)
{
	return copy_bytes(a, fd, 0, a->r.f.offset);
}

/* Gives the feed the next old file of a size. */
static int
next_older(void *arg, uint64_t size, struct sqw_file *f)
{
	struct imgsrc_append *a = arg;
	struct older key = { .size = size };
	size_t lo = 0, hi = a->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (by_older_size(&a->files[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* all of one size are given together */
	while (lo < a->count && a->files[lo].size == size &&
	    a->files[lo].given)
		lo++;
	if (lo == a->count || a->files[lo].size != size)
		return 0;
	a->files[lo].given = true;
	imgsrc_repack_reader_begin(&a->reader, a->files[lo].number);
	*f = (struct sqw_file){ .id = a->r.ids[a->files[lo].number],
		.size = size };
	return 1;
}

static int
read_older(void *arg, void *buf, size_t len)
{
	struct imgsrc_append *a = arg;
	uint64_t at;

	return imgsrc_repack_reader_next(&a->reader, buf, len, &at) == NULL ?
	    0 : -EBADMSG;
}

int
imgsrc_append_data(struct imgsrc_append *a, int fd, uint64_t at)
{
	struct imgsrc_image *to = a->r.to;
	int rc = copy_bytes(a, fd, a->r.f.offset + a->from,
	    a->until - a->from);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < a->r.count; i++) {
		struct sqw_old *b = &a->r.old[i];

		b->size = b->word;
		b->start = b->at - a->from + at;
	}
	to->data.end = at + (a->until - a->from);
	rc = imgsrc_repack_give(&a->r);
	if (rc != 0)
		return rc;
	a->older = (struct sqw_older){ next_older, read_older, a };
	to->pack.older = &a->older;
	return 0;
}
