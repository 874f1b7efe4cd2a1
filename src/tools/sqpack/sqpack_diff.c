/*
 * sqpack_diff.c - what differs between two images, name by name
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Both images list their names in the same order, so they are merged.  The
 * content of files is compared block by block, and each fragment block is
 * decompressed once for the small files that follow one another in it.
 */
#include "sqpack.h"

#include "base/sandbox.h"
#include "base/sys.h"
#include "base/utc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* One of the images. */
struct side {
	struct sq_file *file;
	const struct sq_image *m;
	const char *path;		/* of the image */
	size_t n;			/* the current name */
	struct sq_entry e;
	struct sq_decoder *decoder;
	uint8_t *block, *fragment;
	uint32_t fragment_number;
	int64_t fragment_B;
	/* what is left of the current piece of a file */
	uint64_t at;
	uint32_t k;
	const uint8_t *piece;
	size_t piece_B;
};

struct diff {
	struct sqpack *p;
	struct side a, b;
	uint64_t count;
};

static int
open_side(struct side *s, struct sq_file *file, const char *path)
{
	uint32_t block = sq_facts(file->image)->block;

	*s = (struct side){ .file = file, .m = file->image, .path = path,
		.n = 1, .fragment_number = SQUASHFS_NONE };
	s->block = sys_malloc(block);
	s->fragment = sys_malloc(block);
	if (s->block == NULL || s->fragment == NULL)
		return -ENOMEM;
	return sq_decoder_open(&s->decoder, s->m);
}

static void
close_side(struct side *s)
{
	sq_decoder_close(s->decoder);
	sys_free(s->block);
	sys_free(s->fragment);
}

/*
 * Makes the next piece of the current file available, unless some of the last
 * one is left.  Returns 0, or -EBADMSG with the reason in *why.
 */
static int
next_piece_of(struct side *s, const char **why)
{
	uint32_t word, len;
	uint64_t at;

	if (s->piece_B > 0)
		return 0;
	s->piece = s->block;
	if (s->k < s->e.blocks) {
		word = sq_word(&s->e, s->k);
		len = sq_block_len(s->m, &s->e, s->k++);
		s->piece_B = len;
		if (word == 0)
			memset(s->block, 0, len);
		else if (sq_unpack(s->decoder, s->at, word, len, s->block,
		    why) < 0)
			return -EBADMSG;
		s->at += sq_word_len(word);
		return 0;
	}
	len = sq_tail_len(s->m, &s->e);
	if (s->fragment_number != s->e.fragment) {
		sq_fragment(s->m, s->e.fragment, &at, &word);
		s->fragment_B = sq_unpack(s->decoder, at, word, 0,
		    s->fragment, why);
		s->fragment_number = s->fragment_B < 0 ? SQUASHFS_NONE :
		    s->e.fragment;
		if (s->fragment_B < 0)
			return -EBADMSG;
	}
	*why = "the fragment block ends before the file does";
	if ((uint64_t)s->e.tail_at + len > (uint64_t)s->fragment_B)
		return -EBADMSG;
	s->piece = s->fragment + s->e.tail_at;
	s->piece_B = len;
	return 0;
}

/* Begins a line about a name. */
static void
begin_line(struct diff *d, const char *path)
{
	d->count++;
	listing_print(stdout, *path == '\0' ? "." : path, *path == '\0' ? 1 :
	    strlen(path));
	fputs(": ", stdout);
}

/*
 * Compares the content of two files of the same size.  Returns 0, or -EBADMSG
 * after reporting the damage.
 */
static int
compare_content(struct diff *d, const char *path)
{
	struct side *sides[2] = { &d->a, &d->b };
	const char *why = NULL;
	uint64_t done = 0;

	for (int i = 0; i < 2; i++) {
		sides[i]->at = sides[i]->e.start;
		sides[i]->k = 0;
		sides[i]->piece_B = 0;
	}
	while (done < d->a.e.size) {
		size_t n, same = 0;

		for (int i = 0; i < 2; i++)
			if (sides[i]->e.lost ||
			    next_piece_of(sides[i], &why) != 0) {
				msg_error(&d->p->msg, "%s: %s: %s",
				    sides[i]->path, path, why == NULL ?
				    "the data cannot be read" : why);
				return -EBADMSG;
			}
		n = d->a.piece_B < d->b.piece_B ? d->a.piece_B : d->b.piece_B;
		if (memcmp(d->a.piece, d->b.piece, n) != 0) {
			while (d->a.piece[same] == d->b.piece[same])
				same++;
			begin_line(d, path);
			printf("content differs from byte %llu on\n",
			    (unsigned long long)(done + same));
			return 0;
		}
		for (int i = 0; i < 2; i++) {
			sides[i]->piece += n;
			sides[i]->piece_B -= n;
		}
		done += n;
	}
	return 0;
}

/* A set of attributes, which is compared with another. */
struct attribute_sum {
	uint64_t sum;
	size_t count;
};

static int
add_to_sum(void *arg, const char *name, const void *value, size_t len)
{
	struct attribute_sum *s = arg;
	const uint8_t *v = value;
	uint64_t h = 1469598103934665603u;

	/* FNV-1a; the order does not count */
	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * 1099511628211u;
	h = (h ^ 0x3d) * 1099511628211u;
	for (size_t i = 0; i < len; i++)
		h = (h ^ v[i]) * 1099511628211u;
	s->sum += h;
	s->count++;
	return 0;
}

static struct attribute_sum
sum_attributes(const struct side *s)
{
	struct attribute_sum sum = { 0, 0 };

	if (s->e.xattr != SQUASHFS_NONE && sq_xattrs(s->m, s->e.xattr,
	    add_to_sum, &sum) != 0)
		sum.count = SIZE_MAX;
	return sum;
}

/* Compares everything about a name that both images have. */
static int
compare_name(struct diff *d, const char *path)
{
	const struct sq_entry *a = &d->a.e, *b = &d->b.e;
	struct attribute_sum x, y;
	char from[LISTING_MODE_B], to[LISTING_MODE_B];
	char then[UTC_B], now[UTC_B];

	if (a->mode != b->mode) {
		listing_mode(from, a->mode);
		listing_mode(to, b->mode);
		begin_line(d, path);
		printf("mode %s -> %s\n", from, to);
	}
	if (a->uid != b->uid || a->gid != b->gid) {
		begin_line(d, path);
		printf("owner %u/%u -> %u/%u\n", a->uid, a->gid, b->uid,
		    b->gid);
	}
	if (a->mtime != b->mtime) {
		utc_text(then, (int64_t)a->mtime * 1000000000);
		utc_text(now, (int64_t)b->mtime * 1000000000);
		begin_line(d, path);
		printf("time %.19sZ -> %.19sZ\n", then, now);
	}
	if (!S_ISDIR(a->mode) && a->links != b->links) {
		begin_line(d, path);
		printf("links %u -> %u\n", a->links, b->links);
	}
	x = sum_attributes(&d->a);
	y = sum_attributes(&d->b);
	if (x.sum != y.sum || x.count != y.count) {
		begin_line(d, path);
		printf("extended attributes differ (%zu -> %zu)\n", x.count,
		    y.count);
	}
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		return 0;
	if ((S_ISBLK(a->mode) || S_ISCHR(a->mode)) && a->rdev != b->rdev) {
		begin_line(d, path);
		printf("device %u,%u -> %u,%u\n", squashfs_major(a->rdev),
		    squashfs_minor(a->rdev), squashfs_major(b->rdev),
		    squashfs_minor(b->rdev));
	}
	if (S_ISLNK(a->mode) && (a->size != b->size ||
	    memcmp(a->target, b->target, (size_t)a->size) != 0)) {
		begin_line(d, path);
		fputs("target ", stdout);
		listing_print(stdout, a->target, (size_t)a->size);
		fputs(" -> ", stdout);
		listing_print(stdout, b->target, (size_t)b->size);
		putchar('\n');
	}
	if (!S_ISREG(a->mode))
		return 0;
	if (a->size != b->size) {
		begin_line(d, path);
		printf("size %llu -> %llu\n", (unsigned long long)a->size,
		    (unsigned long long)b->size);
		return 0;
	}
	/* further names of a file have the same data */
	return a->first == d->a.n ? compare_content(d, path) : 0;
}

static void
compare_number(struct diff *d, const char *what, uint64_t a, uint64_t b)
{
	if (a == b)
		return;
	d->count++;
	printf("%s: %llu -> %llu\n", what, (unsigned long long)a,
	    (unsigned long long)b);
}

/* Compares the settings of the images. */
static void
compare_facts(struct diff *d)
{
	const struct sq_facts *a = sq_facts(d->a.m), *b = sq_facts(d->b.m);

	if (a->compressor != b->compressor) {
		d->count++;
		printf("compressor: %s -> %s\n",
		    sq_compressor_name(a->compressor),
		    sq_compressor_name(b->compressor));
	} else if (a->settings_B != b->settings_B || memcmp(a->settings,
	    b->settings, a->settings_B) != 0) {
		d->count++;
		puts("compressor: other options");
	}
	compare_number(d, "block size", a->block, b->block);
	compare_number(d, "flags", a->flags, b->flags);
	compare_number(d, "created", a->mtime, b->mtime);
	compare_number(d, "fragment blocks", a->fragments, b->fragments);
	compare_number(d, "bytes used", a->used_B, b->used_B);
}

/* Says that only one of the images has a name, and passes all below it. */
static void
only_in(struct diff *d, struct side *s, const char *path)
{
	d->count++;
	printf("only in %s: ", s->path);
	listing_print(stdout, path, strlen(path));
	puts(S_ISDIR(s->e.mode) ? "/" : "");
	s->n = sq_end(s->m, s->n);
}

/*
 * Compares two paths in the order in which an image lists them: depth first, so
 * a slash comes before all other bytes.
 */
static int
path_order(const char *a, const char *b)
{
	while (*a == *b && *a != '\0') {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (*a == '\0' || *b == '\0')
		return *a == '\0' ? -1 : 1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (uint8_t)*a < (uint8_t)*b ? -1 : 1;
}

/* Compares all names.  Returns 0, or -errno after reporting the error. */
static int
compare_names(struct diff *d)
{
	size_t ends[2] = { sq_count(d->a.m), sq_count(d->b.m) };
	int rc, worst;

	sq_get(d->a.m, 0, &d->a.e);
	sq_get(d->b.m, 0, &d->b.e);
	worst = compare_name(d, "");
	while (d->a.n < ends[0] || d->b.n < ends[1]) {
		const char *x = NULL, *y = NULL;
		int order;

		if (d->a.n < ends[0]) {
			sq_get(d->a.m, d->a.n, &d->a.e);
			x = sq_file_path(d->a.file, d->a.n);
		}
		if (d->b.n < ends[1]) {
			sq_get(d->b.m, d->b.n, &d->b.e);
			y = sq_file_path(d->b.file, d->b.n);
		}
		if ((x == NULL && d->a.n < ends[0]) ||
		    (y == NULL && d->b.n < ends[1])) {
			msg_error(&d->p->msg, "%s", strerror(ENOMEM));
			return -ENOMEM;
		}
		order = x == NULL ? 1 : y == NULL ? -1 : path_order(x, y);
		if (order < 0) {
			only_in(d, &d->a, x);
		} else if (order > 0) {
			only_in(d, &d->b, y);
		} else {
			rc = compare_name(d, x);
			worst = worst != 0 ? worst : rc;
			d->a.n++;
			d->b.n++;
		}
	}
	return worst;
}

static void
report_other(void *arg, const char *place, const char *why)
{
	struct sqpack *p = arg;

	msg_error(&p->msg, "%s: %s: %s", p->o.other, place, why);
}

int
sqpack_diff(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	struct sq_file_options o = { .path = p->o.other,
		.threads = p->o.data.threads, .memory = p->o.memory,
		.arg = p, .report = report_other };
	struct diff d = { .p = p };
	struct sq_file other;
	const char *why;
	bool confined;
	int rc = sq_file_open(&other, &o, &why);

	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.other, why);
		sq_file_close(&other);
		return rc;
	}
	sandbox_enter(&confined);
	rc = open_side(&d.a, &other, p->o.other);
	if (rc == 0)
		rc = open_side(&d.b, &i->file, p->o.source);
	if (rc != 0) {
		msg_error(&p->msg, "%s", strerror(-rc));
	} else {
		compare_facts(&d);
		rc = compare_names(&d);
	}
	close_side(&d.a);
	close_side(&d.b);
	sq_file_close(&other);
	return rc != 0 ? rc : d.count > 0 ? -EEXIST : 0;
}
