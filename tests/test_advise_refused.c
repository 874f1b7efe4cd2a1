/*
 * test_advise_refused.c - samples and trials whose calls are refused in turn
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation, read and call of a library fails in turn: the run must
 * report that, or give the same sizes as ever, and free and close what it has.
 */
#include "suffers.h"

#include "../src/advise/advise_frame.h"
#include "base/array.h"
#include "base/sys.h"
#include "image/squashfs/format.h"
#include "imgsrc_made.h"

#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

enum { LEN = 20000, BEFORE = 8000, AGAIN = 6, MiB = 1 << 20 };

static char dir[SCRATCH_B];
static uint8_t text[LEN];

/* What the runs are about. */
static enum advise_target target;
static const struct advise_candidate *candidate;
static size_t before;
static enum advise_kind kind;
static char image_path[64];

static void
put_file(const char *path, size_t from, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text + from, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* One candidate on some bytes, and back. */
static int
try_bytes(void)
{
	struct advise_trial t = { .timed = true, .part = before > 0,
		.io_s = NAN };
	int rc = advise_try(target, candidate, text + before, LEN - before,
	    before, &t);

	if (rc == 0)
		take_number(t.size);
	return rc;
}

static void
suffers_target(enum advise_target g)
{
	const struct advise_candidate *c = advise_candidates(g);

	target = g;
	for (; c->name != NULL; c++)
		if (c->like == 0 && (g != ADVISE_SNAP || c->level == 0)) {
			candidate = c;
			suffers(c->name, try_bytes);
		}
}

/* Compressors do not say why a block does not shrink. */
static void
of_blocks(void **state)
{
	(void)state;
	suffers_kinds = ~SUFFERS_KIND(LIBRARY);
	suffers_target(ADVISE_SQUASHFS);
	suffers_target(ADVISE_BTRFS);
	suffers_target(ADVISE_ZFS);
	suffers_kinds = UINT64_MAX;
}

static void
of_streams(void **state)
{
	static const struct advise_candidate parts[] = {
		{ "part of zstd", "zstd", 3, 0, 16, 512, 0 },
		{ "part of xz", "xz", 3, 0, 24, 4096, 0 },
	};

	(void)state;
	suffers_run.first = 12;
	suffers_run.turns = 20;
	suffers_target(ADVISE_LAYERS);
	target = ADVISE_STREAM;
	before = BEFORE;
	for (unsigned i = 0; i < 2; i++) {
		candidate = &parts[i];
		suffers(candidate->name, try_bytes);
	}
	before = 0;
	suffers_run.first = 30;
	suffers_run.turns = 100;
}

/* Lists the files below tree, of the kind or all, as a group. */
static int
list_group(struct advise_census *c, struct advise_group *g)
{
	int rc = advise_census_add(c, "tree", 0, UINT64_MAX);

	if (rc == 0)
		rc = advise_census_look(c, UINT64_MAX);
	for (size_t i = 0; i < c->count && rc == 0; i++) {
		void *files = g->files;

		if (c->files[i].size == 0 || (kind != ADVISE_KINDS &&
		    c->files[i].kind != kind))
			continue;
		rc = array_grow(&files, g->count, &g->room, sizeof(*g->files));
		g->files = files;
		if (rc == 0)
			g->files[g->count++] = &c->files[i];
	}
	got.warned |= c->unreadable > 0 || c->left_out > 0;
	return rc;
}

/* Draws and tries all of a group, and takes what is estimated of its sizes. */
static int
measure(struct advise_group *g)
{
	const struct advise_candidate *c = advise_candidates(g->target);
	struct advise_estimate e;
	int rc = advise_group_frame(g, 1, 1);

	/* few candidates are enough, and one that is slow */
	for (unsigned k = 1; k < g->names; k++)
		g->dropped[k] = k > 1 && g->target != ADVISE_BTRFS;
	take_number(g->plain_B);
	take_number(g->twins);
	take_number(g->unknown_B);
	while (rc == 0 && (rc = advise_group_draw(g)) > 0)
		rc = 0;
	while (rc == 0 && (rc = advise_group_try(g)) > 0)
		rc = 0;
	for (unsigned k = 0; rc == 0 && k < g->names; k++) {
		if (g->dropped[k] || c[k].like != 0)
			continue;
		rc = advise_group_estimate(g, k, &e);
		if (rc == 0) {
			take(&e.size.value, sizeof(e.size.value));
			take_number(e.units);
		}
	}
	got.warned |= g->lost > 0;
	return rc;
}

static int
sample_files(void)
{
	struct advise_census c = { .count = 0 };
	struct advise_group g = { .target = target, .kind = kind,
		.threads = 1 };
	int rc = list_group(&c, &g);

	if (rc == 0)
		rc = advise_group_unique(&g);
	if (rc == 0)
		rc = measure(&g);
	for (size_t i = 0; i < c.count; i++)
		got.warned |= c.files[i].err != 0;
	/* a file whose end cannot be read has no twin */
	got.warned |= kind == ADVISE_KINDS && g.twins == 0;
	/* nothing is left of what could not be read */
	if (rc == -ENODATA && got.warned)
		rc = 0;
	advise_group_free(&g);
	advise_census_free(&c);
	return rc;
}

static int
sample_image(void)
{
	struct advise_group g = { .target = ADVISE_SQUASHFS,
		.kind = ADVISE_KINDS, .threads = 1 };
	struct advise_image *m;
	int rc = advise_image_open(&m, image_path);

	if (rc == 0) {
		rc = advise_image_list(m, &g);
		g.block = advise_image_block(m);
	}
	if (rc == 0)
		rc = measure(&g);
	for (size_t i = 0; i < g.count; i++)
		got.warned |= g.files[i]->err != 0;
	advise_group_free(&g);
	advise_image_close(m);
	return rc;
}

static void
of_samples(void **state)
{
	(void)state;
	suffers_kinds = ~SUFFERS_KIND(LIBRARY);
	suffers_run.first = 20;
	suffers_run.turns = 30;
	kind = ADVISE_KINDS;
	target = ADVISE_BTRFS;
	suffers("files on btrfs", sample_files);
	target = ADVISE_SQUASHFS;
	suffers("files of an image", sample_files);
	target = ADVISE_STREAM;
	suffers("a stream", sample_files);
	target = ADVISE_FILES;
	kind = ADVISE_GZIP;
	suffers("compressed files", sample_files);
	suffers("an image", sample_image);
	suffers_run.first = 30;
	suffers_run.turns = 100;
	suffers_kinds = UINT64_MAX;
}

/* Nothing to sample, whatever it becomes. */
static void
of_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < ADVISE_TARGETS; i++) {
		struct advise_group g = { .target = (enum advise_target)i,
			.kind = ADVISE_KINDS };

		assert_int_equal(advise_group_frame(&g, 1, 1), -ENODATA);
		advise_group_free(&g);
	}
}

/* A stream in which files come again, which has strata of its own. */
static int
frame_again(void)
{
	struct advise_file files[AGAIN];
	struct advise_group g = { .target = ADVISE_STREAM,
		.kind = ADVISE_KINDS, .count = AGAIN };
	int rc = 0;

	g.files = sys_malloc(sizeof(*g.files) * AGAIN);
	if (g.files == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < AGAIN; i++) {
		files[i] = (struct advise_file){ .path = "f", .head = i / 2,
			.size = (1 + i / 2) * MiB, .seen = true };
		g.files[i] = &files[i];
	}
	rc = advise_group_frame(&g, 1, 1);
	for (unsigned i = 0; rc == 0 && i < FRAME_STRATA; i++) {
		const struct frame_stratum *h = &g.frame->strata[i];

		take_number(h->units);
		take_number(h->size);
		if (h->list != NULL)
			take(h->list, (size_t)h->units * sizeof(*h->list));
	}
	advise_group_free(&g);
	return rc;
}

static void
of_frames(void **state)
{
	(void)state;
	SUFFERS(frame_again);
}

/* All bytes of an image's files, a few at a time. */
static int
read_files(struct advise_image *m, const struct advise_group *g)
{
	int rc = 0;

	for (size_t i = 0; i < g->count && rc == 0; i++) {
		const struct advise_file *f = g->files[i];
		uint8_t part[3000];

		for (uint64_t at = 0; at < f->size && rc == 0;) {
			ssize_t n = advise_image_read(m, f->number, at, part,
			    sizeof(part));

			rc = n < 0 ? (int)n : n == 0 ? -ENODATA : 0;
			if (rc == 0) {
				take(part, (size_t)n);
				at += (uint64_t)n;
			}
		}
	}
	return rc;
}

static int
read_image(void)
{
	struct advise_group g = { .target = ADVISE_SQUASHFS };
	struct advise_image *m;
	int rc = advise_image_open(&m, image_path);

	if (rc == 0)
		rc = advise_image_list(m, &g);
	if (rc == 0)
		rc = read_files(m, &g);
	advise_group_free(&g);
	advise_image_close(m);
	return rc;
}

/* The image once it is open, when it has unpacked its last block. */
static struct advise_image *opened;
static struct advise_group members;

static int
read_opened(void)
{
	return read_files(opened, &members);
}

static void
read_to_end(void)
{
	size_t len = got.len;

	assert_int_equal(read_files(opened, &members), 0);
	got.len = len;
}

static void
of_images(void **state)
{
	(void)state;
	suffers_kinds = SUFFERS_KIND(MALLOC) | SUFFERS_KIND(OPENAT) |
	    SUFFERS_KIND(PREAD);
	SUFFERS(read_image);
	/* what cannot be read is not taken for damage */
	assert_int_equal(advise_image_open(&opened, image_path), 0);
	members.target = ADVISE_SQUASHFS;
	assert_int_equal(advise_image_list(opened, &members), 0);
	suffers_exact = suffers_kinds;
	suffers_after = read_to_end;
	read_to_end();
	SUFFERS(read_opened);
	suffers_after = NULL;
	suffers_exact = 0;
	advise_group_free(&members);
	advise_image_close(opened);
	suffers_kinds = UINT64_MAX;
}

/* Changes the size of a stored fragment behind the superblock. */
static void
shorten_fragment(int fd, uint8_t from, uint8_t to)
{
	const uint8_t entry[16] = { SQUASHFS_SUPER_B, 0, 0, 0, 0, 0, 0, 0, from,
		0, 0, 1 };
	static uint8_t image[1 << 16];
	ssize_t len = pread(fd, image, sizeof(image), 0);
	const uint8_t *at;

	assert_true(len > 0);
	at = memmem(image, (size_t)len, entry, sizeof(entry));
	assert_non_null(at);
	assert_int_equal(pwrite(fd, &to, 1, at - image + 8), 1);
}

/* One file that fills the only fragment, which ends where the image does. */
static void
whole_fragment(void **state)
{
	struct advise_group g = { .target = ADVISE_SQUASHFS };
	struct advise_image *m;
	uint8_t back[200];
	char path[64];
	struct made made;

	(void)state;
	assert_int_equal(mkdir("one", 0755), 0);
	put_file("one/file", 5, 100);
	made_begin(&made, "one");
	made.image.pack.tails = true;
	assert_int_equal(made_build(&made, &imgsrc_dir), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made.fd);
	assert_int_equal(advise_image_open(&m, path), 0);
	assert_int_equal(advise_image_list(m, &g), 0);
	assert_int_equal(g.count, 1);
	/* what cannot be read is not taken for damage */
	assert_true(fault_plan("pread:1:EIO"));
	assert_int_equal(advise_image_read(m, g.files[0]->number, 0, back,
	    sizeof(back)), -EIO);
	assert_true(fault_plan(""));
	assert_int_equal(advise_image_read(m, g.files[0]->number, 0, back,
	    sizeof(back)), 100);
	assert_memory_equal(back, text + 5, 100);
	assert_int_equal(advise_image_read(m, g.files[0]->number, 60, back,
	    sizeof(back)), 40);
	assert_memory_equal(back, text + 65, 40);
	advise_group_free(&g);
	advise_image_close(m);
	/* and if it were shorter than its only file */
	shorten_fragment(made.fd, 100, 50);
	assert_int_equal(advise_image_open(&m, path), 0);
	assert_int_equal(advise_image_list(m, &g), 0);
	assert_int_equal(g.count, 1);
	assert_int_equal(advise_image_read(m, g.files[0]->number, 0, back,
	    sizeof(back)), -EBADMSG);
	assert_int_equal(advise_image_read(m, g.files[0]->number, 20, back,
	    30), 30);
	assert_memory_equal(back, text + 25, 30);
	advise_group_free(&g);
	advise_image_close(m);
	made_end(&made);
}

/* A trial that lacks memory does not fail for another reason, too. */
static void
two_reasons(void **state)
{
	const struct advise_candidate *c = advise_candidates(ADVISE_FILES);
	unsigned k = 0;
	int rc;

	(void)state;
	do {
		struct advise_trial t = { .timed = true };
		char call[64];

		snprintf(call, sizeof(call), "malloc:%u:ENOMEM,lseek:1+:EIO",
		    ++k);
		assert_true(fault_plan(call));
		rc = advise_try(ADVISE_FILES, c, text, LEN, 0, &t);
		assert_true(fault_plan(""));
	} while (rc == -ENOMEM);
	assert_int_equal(rc, -EIO);
	assert_true(k > 5);
}

/* Files whose plain size is, or is not, known. */
static void
plain_sizes(void **state)
{
	static const struct {
		const char *path;
		uint64_t size;
		int err;
	} known[] = { { "tree/b.gz", 9000, 0 }, { "tree/a", 0, 0 },
		{ "tree/none", 0, ENOENT } };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct advise_file f = { .path = known[i].path, .size = 5000 };

		assert_int_equal(advise_plain_size(&f), known[i].size);
		assert_int_equal(f.err, known[i].err);
	}
}

static int
begin_all(void **state)
{
	static struct made m;
	gzFile z;

	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	for (size_t i = 0; i < LEN; i++)
		text[i] = (uint8_t)"etaoin shrdlu\n"[i * i / 7 % 14];
	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(mkdir("tree/sub", 0755), 0);
	put_file("tree/a", 0, 9000);
	put_file("tree/sub/twin", 0, 9000);
	put_file("tree/sub/c", 3, 5000);
	z = gzopen("tree/b.gz", "w");
	assert_non_null(z);
	assert_int_equal(gzwrite(z, text + 9, 9000), 9000);
	assert_int_equal(gzclose(z), Z_OK);
	made_begin(&m, "tree");
	m.image.pack.method = sqw_method_by_name("gzip");
	m.image.pack.level = 9;
	m.image.pack.tails = true;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	snprintf(image_path, sizeof(image_path), "/proc/self/fd/%d", dup(m.fd));
	made_end(&m);
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_sizes),
		cmocka_unit_test(whole_fragment),
		cmocka_unit_test(two_reasons),
		cmocka_unit_test(of_nothing),
		cmocka_unit_test(of_images),
		cmocka_unit_test(of_frames),
		cmocka_unit_test(of_blocks),
		cmocka_unit_test(of_streams),
		cmocka_unit_test(of_samples),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
