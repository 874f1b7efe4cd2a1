/*
 * test_layer_refused.c - layers whose packing, reading or checking is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation, each call of the system and each of a library fails in turn.
 * What was refused is reported with a reason, or the layer is the same.
 */
#include "suffers.h"

#include "base/sys.h"
#include "kinds_made.h"
#include "lazy/blobs_file.h"
#include "lazy/extract.h"
#include "lazy/layer.h"
#include "lazy/merge.h"
#include "lazy/pack/pack.h"
#include "lazy/verify/verify.h"
#include "scratch.h"
#include "walk/walk_order.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = KINDS_CHUNK };

static char dir[SCRATCH_B];
static char why[LAYER_WHY];

/* The archive, and the same compressed by gzip. */
static int archive, gzipped;

/* One way to make a layer. */
static const struct way {
	const char *name;
	enum layer_kind kind;
	uint64_t min_chunk;
	bool packed, plain;	/* of ztocs: windows, the layer */
	bool stargz, simple;	/* simple: no trace, no compact index */
} ways[] = {
	{ "estargz", LAYER_ESTARGZ, .min_chunk = 0 },
	{ "estargz-shared", LAYER_ESTARGZ, .min_chunk = CHUNK },
	{ "estargz-simple", LAYER_ESTARGZ, .simple = true },
	{ "zstd", LAYER_ZSTD_CHUNKED, .min_chunk = 0 },
	{ "zstd-stargz", LAYER_ZSTD_CHUNKED, .stargz = true },
	{ "ztoc", LAYER_ZTOC, .min_chunk = 0 },
	{ "ztoc-packed", LAYER_ZTOC, .packed = true },
	{ "ztoc-plain", LAYER_ZTOC, .plain = true },
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* The way of this run, its layer (of a ztoc, the side file), and its result. */
static const struct way *way;
static int made[WAYS];
static struct pack_result results[WAYS];

static const char *
path_of(int fd, char path[64])
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return path;
}

/* Another description of a file, at its beginning. */
static int
again(int fd)
{
	char path[64];
	int other;

	OWN(other = open(path_of(fd, path), O_RDONLY | O_CLOEXEC));
	assert_true(other >= 0);
	return other;
}

static int
memory(const char *name)
{
	int fd;

	OWN(fd = memfd_create(name, MFD_CLOEXEC));
	assert_true(fd >= 0);
	return fd;
}

static struct walk_order *
list_of(const char *text)
{
	char *copy = sys_malloc(strlen(text) + 1);
	struct walk_order *o = NULL;
	size_t line;

	assert_non_null(copy);
	memcpy(copy, text, strlen(text) + 1);
	assert_int_equal(walk_order_read(&o, copy, strlen(text), false, &line),
	    0);
	return o;
}

/* Packing */

static struct walk_order *lists[2];

/* Whether what is packed is compressed. */
static bool from_gzip;

static int
pack_to(int out, struct pack_result *r)
{
	struct pack_options o = { .kind = way->kind, .threads = 1,
		.level = -1, .chunk = CHUNK, .min_chunk = way->min_chunk,
		.orders = lists, .order_count = way->simple ? 0 : 2,
		.trace = !way->simple, .no_compact = way->simple,
		.stargz = way->stargz, .windows = way->packed ?
		PACK_WINDOWS_PACKED : PACK_WINDOWS_RAW, .tmpdir = dir };
	int in = again(from_gzip || (way->kind == LAYER_ZTOC && !way->plain) ?
	    gzipped : archive), rc;

	if (way->kind == LAYER_ZTOC) {
		o.trace = false;
		o.order_count = 0;
	}
	*why = '\0';
	rc = pack_layer(&o, in, out, r, why);
	close(in);
	return explained(rc, why);
}

static int
pack(void)
{
	struct pack_result r = { .entries = 0 };
	int out = memory("layer"), rc;
	off_t len = 0;

	rc = pack_to(out, &r);
	if (rc == 0)
		OWN(len = lseek(out, 0, SEEK_END));
	assert_in_range(len, 0, SUFFERS_MOST);
	assert_int_equal(pread(out, got.p, (size_t)len, 0), len);
	got.len = (size_t)len;
	if (rc == 0) {
		take(r.index_digest, LAYER_DIGEST);
		take(r.toc_digest, LAYER_DIGEST);
		take(r.compact_digest, LAYER_DIGEST);
		take_number(r.blob_size);
		take_number(r.content_size);
		take_number(r.trace_offset);
		take_number(r.compact_offset);
		take_number(r.entries);
		take_number(r.units);
	}
	close(out);
	return rc;
}

/* Reading */

/* The layer of this run. */
static struct blobs_file *blobs;
static struct layer *layer;

static int
open_layer(const struct layer_expect *e)
{
	char path[64], side[64];
	int fd = made[way - ways];
	bool ztoc = way->kind == LAYER_ZTOC;
	int rc;

	layer = NULL;
	if (ztoc)
		path_of(way->plain ? archive : gzipped, path);
	else
		path_of(fd, path);
	rc = blobs_file_open(&blobs, path, ztoc ? path_of(fd, side) : NULL);
	if (rc != 0)
		return rc;
	*why = '\0';
	rc = explained(layer_open(&layer, blobs_file_blobs(blobs), e, why), why);
	if (rc != 0)
		blobs_file_close(blobs);
	return rc;
}

static void
close_layer(void)
{
	layer_close(layer);
	blobs_file_close(blobs);
}

static void
take_entry(const struct layer_entry *e, const uint8_t *digest)
{
	take_text(e->path);
	take_text(e->link);
	take_text(e->uname);
	take_text(e->gname);
	take_number(e->type);
	take_number(e->mode);
	take_number(e->major);
	take_number(e->uid);
	take_number(e->size);
	take_number((uint64_t)e->mtime);
	for (size_t i = 0; i < e->run_count; i++) {
		take_number(e->runs[i].offset);
		take_number(e->runs[i].length);
		take_number(e->runs[i].inner);
		take_number(e->runs[i].unit);
	}
	for (size_t i = 0; i < e->xattr_count; i++) {
		take_text(e->xattrs[i].name);
		take(e->xattrs[i].value, e->xattrs[i].length);
	}
	if (digest != NULL)
		take(digest, LAYER_DIGEST);
}

/* Decodes a unit, and once more as one that is known. */
static int
take_unit(struct layer_decoder *d, uint32_t unit)
{
	static uint8_t stored[LAYER_RANGES_MAX][1 << 18], content[1 << 18];
	const struct layer_blobs *b = blobs_file_blobs(blobs);
	struct layer_range r[LAYER_RANGES_MAX];
	size_t units, count = layer_ranges(layer, unit, r);
	uint64_t len = layer_units(layer, &units)[unit].content;
	const char *clause = NULL;
	int rc;

	for (size_t i = 0; i < count; i++) {
		assert_true(r[i].length <= sizeof(stored[i]));
		r[i].buf = stored[i];
	}
	assert_true(len <= sizeof(content));
	rc = b->read(b->arg, r, count);
	if (rc != 0)
		return rc;
	for (int i = 0; i < 2; i++) {
		rc = (i == 0 ? layer_decode : layer_decode_again)(d, unit, r,
		    content, &clause);
		if (rc != 0 && clause == NULL)
			fail_msg("%s: a unit without a reason", way->name);
		if (rc != 0)
			return rc;
		take(content, (size_t)len);
	}
	return 0;
}

/* The part of a trace that is still to be read. */
static struct layer_range rest;

static ssize_t
next_bytes(void *arg, const uint8_t **data)
{
	static uint8_t piece[777];
	const struct layer_blobs *b = blobs_file_blobs(blobs);
	struct layer_range r = rest;
	int rc;

	(void)arg;
	r.length = rest.length < sizeof(piece) ? rest.length : sizeof(piece);
	r.buf = piece;
	rc = b->read(b->arg, &r, 1);
	rest.offset += r.length;
	rest.length -= r.length;
	*data = piece;
	return rc != 0 ? rc : (ssize_t)r.length;
}

static int
take_piece(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	(void)arg;
	take_number(entry);
	take_number(offset);
	take(data, length);
	return 0;
}

static int
take_section(void *arg, const struct layer_section *s)
{
	const struct layer_trace_io io = { .next = next_bytes,
		.take = take_piece };
	struct layer_range outer = rest;
	int rc;

	(void)arg;
	take_number(s->count);
	rest = s->stored;
	rc = layer_section_decode(layer, s, &io);
	rest = outer;
	return rc;
}

/* Everything that a layer has */
static int
read_it(void)
{
	const struct layer_trace_io io = { .next = next_bytes,
		.take = take_piece, .section = take_section };
	struct layer_decoder *d = NULL;
	const struct layer_entry *e;
	size_t count;
	int rc = open_layer(NULL);

	if (rc != 0)
		return rc;
	e = layer_entries(layer, &count);
	for (size_t i = 0; i < count; i++)
		take_entry(&e[i], layer_file_digest(layer, i));
	rc = layer_decoder_open(&d, layer);
	layer_units(layer, &count);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = take_unit(d, i);
	layer_decoder_close(d);
	if (rc == 0 && layer_trace(layer, &rest))
		rc = layer_trace_decode(layer, &io);
	close_layer();
	return rc;
}

/* By the compact index, whose digests are in blocks */
static int
read_compact(void)
{
	const struct pack_result *r = &results[way - ways];
	const struct layer_expect e = { .compact_digest = r->compact_digest,
		.compact_offset = r->compact_offset,
		.compact_length = r->compact_length };
	struct layer_decoder *d = NULL;
	const struct layer_entry *entries;
	size_t count;
	int rc = open_layer(&e);

	if (rc != 0)
		return rc;
	entries = layer_entries(layer, &count);
	for (size_t i = 0; i < count; i++)
		take_entry(&entries[i], NULL);
	rc = layer_decoder_open(&d, layer);
	layer_units(layer, &count);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = take_unit(d, i);
	layer_decoder_close(d);
	close_layer();
	return rc;
}

static int
compare_compact(void)
{
	int rc = open_layer(NULL);

	if (rc != 0)
		return rc;
	take_number(1);
	*why = '\0';
	rc = explained(layer_check_compact(layer, why), why);
	close_layer();
	return rc;
}

/* Verifying */

static void
report_fault(void *arg, const char *text)
{
	(void)arg;
	if (*text == '\0')
		fail_msg("%s: a fault without a reason", way->name);
	got.warned = true;
}

static int
verify(void)
{
	struct verify_options o = { .threads = 1, .report = report_fault };
	struct verify_result r;
	int rc = open_layer(NULL);

	if (rc != 0)
		return rc;
	o.archive = again(way->kind != LAYER_ZTOC ? made[way - ways] :
	    way->plain ? archive : gzipped);
	o.spool = memory("spool");
	rc = verify_layer(layer, blobs_file_blobs(blobs), &o, &r);
	if (rc == 0) {
		take_number(r.entries);
		take_number(r.units);
		take_number(r.faults);
		take_number(r.bytes);
		if (got.warned != (r.faults > 0))
			fail_msg("%s: %zu faults", way->name, r.faults);
	}
	close(o.spool);
	close(o.archive);
	close_layer();
	return rc;
}

/* Extracting */

static void
report_extract(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	(void)arg;
	(void)level;
	/* a device, which needs root */
	if (path != NULL && strcmp(path, "null") == 0)
		return;
	if (*text == '\0')
		fail_msg("%s, %s: no reason", way->name, suffers_run.call);
	got.warned = true;
}

/* What became of the entries; without root, devices are left out. */
static void
take_extracted(int root)
{
	static char data[1 << 16];
	size_t count;
	const struct layer_entry *e = layer_entries(layer, &count);

	for (size_t i = 0; i < count; i++) {
		struct stat st = { .st_mode = 0 };
		int fd;

		if (e[i].type == TAR_CHAR)
			continue;
		(void)fstatat(root, e[i].path, &st, AT_SYMLINK_NOFOLLOW);
		take_text(e[i].path);
		take_number(st.st_mode);
		take_number((uint64_t)st.st_mtim.tv_sec);
		fd = S_ISREG(st.st_mode) ? openat(root, e[i].path, O_RDONLY) :
		    -1;
		if (fd >= 0)
			take(data, (size_t)read(fd, data, sizeof(data)));
		if (fd >= 0)
			close(fd);
	}
}

static int
extract(void)
{
	struct layer_extract_options o = { .to = { .threads = 1 },
		.no_xattrs = true, .report = report_extract };
	int rc = open_layer(NULL);

	if (rc != 0)
		return rc;
	OWN((void)mkdir("root", 0700));
	OWN(o.to.root = open("root", O_RDONLY | O_DIRECTORY));
	assert_true(o.to.root >= 0);
	rc = layer_extract(layer, blobs_file_blobs(blobs), &o);
	if (rc != 0 && !got.warned)
		fail_msg("%s, %s: %d, but nothing is said", way->name,
		    suffers_run.call, rc);
	fault_direct++;
	if (rc == 0)
		take_extracted(o.to.root);
	close(o.to.root);
	assert_int_equal(scratch_remove("root"), 0);
	fault_direct--;
	close_layer();
	return rc;
}

/* Merging */

static int
merge_modes(void)
{
	struct merge *t;
	int rc = open_layer(NULL);

	if (rc != 0)
		return rc;
	for (int i = 0; rc == 0 && i < 2; i++) {
		*why = '\0';
		rc = explained(merge_build(&t, &layer, 1, i == 0 ?
		    MERGE_MERGED : MERGE_OVERLAY, why), why);
		if (rc != 0)
			break;
		for (uint32_t k = 0; k < merge_count(t); k++) {
			const struct merge_node *n = merge_node(t, k);

			take_text(n->name);
			take_number(n->inode);
			take_number(n->links);
			take_number(n->opaque * 2U + n->whiteout);
		}
		merge_free(t);
	}
	close_layer();
	return rc;
}

/* The tests */

static void
packing(void **state)
{
	(void)state;
	suffers_run.first = suffers_run.turns = 5;
	suffers_kinds = ~(UINT64_C(1) << FAULT_MALLOC);
	for (size_t i = 0; i < WAYS; i++) {
		way = &ways[i];
		suffers(way->name, pack);
	}
	/* each allocation */
	suffers_kinds = 1 << FAULT_MALLOC;
	for (size_t i = 0; i < WAYS; i++) {
		way = &ways[i];
		suffers_run.first = i == 0 ? 1000 : 10;
		suffers(way->name, pack);
	}
	suffers_kinds = UINT64_MAX;
}

/* A compressed archive gives the same layer. */
static void
unpacking(void **state)
{
	(void)state;
	suffers_run.first = suffers_run.turns = 10;
	for (size_t i = 0; i < WAYS; i++) {
		way = &ways[i];
		if (way->kind == LAYER_ZTOC)
			continue;
		assert_int_equal(suffers_once(pack), 0);
		usual = got;
		from_gzip = true;
		assert_int_equal(suffers_once(pack), 0);
		assert_int_equal(got.len, usual.len);
		assert_memory_equal(got.p, usual.p, got.len);
		if (i == 0)
			suffers(way->name, pack);
		from_gzip = false;
	}
}

static void
reading(void **state)
{
	(void)state;
	suffers_run.first = suffers_run.turns = 10;
	for (size_t i = 0; i < WAYS; i++) {
		way = &ways[i];
		/* a ztoc that cannot be looked for is none */
		suffers_exact = SUFFERS_KIND(OPENAT) | SUFFERS_KIND(PREAD);
		if (way->kind != LAYER_ZTOC)
			suffers_exact |= SUFFERS_KIND(STAT);
		suffers(way->name, read_it);
		if (results[i].compact_length == 0)
			continue;
		suffers(way->name, read_compact);
		suffers(way->name, compare_compact);
	}
}

/* Whether the data of files in a unit is the same. */
static bool
same_data(uint32_t unit, const uint8_t *a, const uint8_t *b)
{
	size_t count;
	const struct layer_entry *e = layer_entries(layer, &count);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < e[i].run_count; k++) {
			const struct layer_run *r = &e[i].runs[k];

			if (r->unit == unit && memcmp(a + r->inner, b +
			    r->inner, (size_t)r->length) != 0)
				return false;
		}
	return true;
}

/* A unit of which a bit has changed is refused, or reads as before. */
static void
damage(void **state)
{
	static uint8_t stored[LAYER_RANGES_MAX][1 << 18], content[1 << 18],
	    right[1 << 18];
	unsigned refusals = 0;

	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		const struct layer_blobs *b;
		struct layer_decoder *d;
		size_t units;

		way = &ways[i];
		assert_int_equal(open_layer(NULL), 0);
		b = blobs_file_blobs(blobs);
		assert_int_equal(layer_decoder_open(&d, layer), 0);
		layer_units(layer, &units);
		for (uint32_t u = 0; u < units; u++) {
			struct layer_range r[LAYER_RANGES_MAX];
			size_t n = layer_ranges(layer, u, r);
			const char *clause;

			for (size_t k = 0; k < n; k++)
				r[k].buf = stored[k];
			assert_int_equal(b->read(b->arg, r, n), 0);
			assert_int_equal(layer_decode(d, u, r, right, &clause),
			    0);
			for (size_t k = 0; k < n; k++)
				for (size_t at = 0; at < r[k].length;
				    at += 1 + r[k].length / 20) {
					int rc;

					stored[k][at] ^= 4;
					rc = layer_decode(d, u, r, content,
					    &clause);
					if (rc != -EBADMSG && (rc != 0 ||
					    !same_data(u, content, right)))
						fail_msg("%s: unit %u at %zu: "
						    "%d", way->name, u, at,
						    rc);
					refusals += rc != 0;
					stored[k][at] ^= 4;
				}
		}
		layer_decoder_close(d);
		close_layer();
	}
	assert_true(refusals > 500);
}

static void
verifying(void **state)
{
	(void)state;
	suffers_exact = 0;
	suffers_run.first = suffers_run.turns = 10;
	for (size_t i = 0; i < WAYS; i++) {
		way = &ways[i];
		suffers(way->name, verify);
	}
}

static void
extracting(void **state)
{
	(void)state;
	suffers_run.first = suffers_run.last = 15;
	suffers_run.turns = 5;
	way = &ways[1];
	SUFFERS(extract);
	/* what is extracted is planned after the layer is opened */
	suffers_kinds = SUFFERS_KIND(MALLOC);
	suffers_run.first = 100;
	SUFFERS(extract);
	suffers_kinds = UINT64_MAX;
	suffers_run.last = 1;
}

static void
merging(void **state)
{
	(void)state;
	way = &ways[0];
	SUFFERS(merge_modes);
}

/* More layers than a node can number */
static void
many_layers(void **state)
{
	enum { MANY = UINT16_MAX + 1 };
	struct layer **all = calloc(MANY, sizeof(*all));
	struct merge *t;

	(void)state;
	way = &ways[0];
	assert_int_equal(open_layer(NULL), 0);
	for (size_t i = 0; i < MANY; i++)
		all[i] = layer;
	assert_int_equal(merge_build(&t, all, MANY, MERGE_MERGED, why), -EFBIG);
	assert_true(*why != '\0');
	close_layer();
	free(all);
}

/* The archive */

/* Compresses the archive in many blocks, so that it has many points. */
static void
put_gzip(void)
{
	static uint8_t from[1 << 18], to[1 << 18];
	ssize_t n = pread(archive, from, sizeof(from), 0);
	z_stream z = { .next_in = from, .next_out = to,
		.avail_out = sizeof(to) };

	assert_in_range(n, 1, sizeof(from) - 1);
	z.avail_in = (uInt)n;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 1,
	    Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	gzipped = memory("made");
	assert_int_equal(write(gzipped, to, z.total_out), z.total_out);
	deflateEnd(&z);
}

static int
begin_all(void **state)
{
	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	assert_true(fault_plan(""));
	archive = kinds_file(0);
	put_gzip();
	lists[0] = list_of("1\td/file1\t0\t9000\n2\td/file3\t0\t100\n");
	lists[1] = list_of("1\td/file5\t100\t500\n2\td/file1\t4000\t1000\n");
	for (size_t i = 0; i < WAYS; i++) {
		way = &ways[i];
		made[i] = memory("made");
		if (pack_to(made[i], &results[i]) != 0)
			fail_msg("%s: %s", way->name, why);
	}
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++)
		close(made[i]);
	walk_order_free(lists[0]);
	walk_order_free(lists[1]);
	close(archive);
	close(gzipped);
	return chdir("/") != 0 || rmdir(dir) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing),
		cmocka_unit_test(unpacking),
		cmocka_unit_test(reading),
		cmocka_unit_test(damage),
		cmocka_unit_test(verifying),
		cmocka_unit_test(extracting),
		cmocka_unit_test(merging),
		cmocka_unit_test(many_layers),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
