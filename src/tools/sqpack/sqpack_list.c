/*
 * sqpack_list.c - listing the names in an image, and describing it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source for compressor options: the format description.
 */
#include "sqpack.h"

#include "base/bytes.h"
#include "base/sandbox.h"
#include "base/utc.h"
#include "image/squashfs/write/record.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { WIDTH = 24 };			/* total width of owner, blanks and
					 * size */

const char *const sqpack_strategies[SQPACK_STRATEGIES] = { "default",
	"filtered", "huffman_only", "run_length_encoded", "fixed" };
const char *const sqpack_lzos[SQPACK_LZOS] = { "lzo1x_1", "lzo1x_1_11",
	"lzo1x_1_12", "lzo1x_1_15", "lzo1x_999" };

static const struct {
	unsigned bit;
	const char *name;
} flags[] = {
	{ SQUASHFS_RAW_INODES, "uncompressed-inodes" },
	{ SQUASHFS_RAW_DATA, "uncompressed-data" },
	{ SQUASHFS_RAW_FRAGMENTS, "uncompressed-fragments" },
	{ SQUASHFS_NO_FRAGMENTS, "no-fragments" },
	{ SQUASHFS_ALWAYS_FRAGMENTS, "always-fragments" },
	{ SQUASHFS_DEDUPLICATED, "deduplicated" },
	{ SQUASHFS_EXPORTABLE, "exportable" },
	{ SQUASHFS_RAW_XATTRS, "uncompressed-xattrs" },
	{ SQUASHFS_NO_XATTRS, "no-xattrs" },
	{ SQUASHFS_OPTIONS, "compressor-options" },
	{ SQUASHFS_RAW_IDS, "uncompressed-ids" },
};

static uint32_t
setting(const struct sq_facts *f, size_t at, uint32_t otherwise)
{
	return f->settings_B < at + 4 ? otherwise :
	    load_le32(f->settings + at);
}

static void
print_bits(const char *what, uint32_t bits, const char *const *names,
    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((bits & 1U << i) != 0)
			printf(", %s %s", what, names[i]);
}

static void
print_compressor(const struct sq_facts *f)
{
	uint32_t n;

	printf("compressor: %s", sq_compressor_name(f->compressor));
	switch (f->compressor) {
	case SQUASHFS_GZIP:
		n = setting(f, 4, 15);
		printf(", level %u, window %u", setting(f, 0, 9), n & 0xffff);
		print_bits("strategy", n >> 16, sqpack_strategies,
		    SQPACK_STRATEGIES);
		break;
	case SQUASHFS_LZO:
		n = setting(f, 0, 4);
		if (n >= SQPACK_LZOS)
			printf(", algorithm %u", n);
		else if (n == 4)
			printf(", %s, level %u", sqpack_lzos[n],
			    setting(f, 4, 8));
		else
			printf(", %s", sqpack_lzos[n]);
		break;
	case SQUASHFS_XZ:
		printf(", dictionary %u", setting(f, 0, f->block));
		print_bits("filter", setting(f, 4, 0), sqw_filters,
		    SQW_FILTERS);
		break;
	case SQUASHFS_LZ4:
		if (setting(f, 4, 0) & 1)
			printf(", high compression");
		break;
	case SQUASHFS_ZSTD:
		printf(", level %u", setting(f, 0, 15));
		break;
	default:
		break;
	}
	putchar('\n');
}

/* Prints the description that precedes a long listing. */
static void
print_facts(const struct sqpack_image *i)
{
	static const char *const answers[] = { "unknown", "no", "yes" };
	/* settings for which the format has no field, see record.h */
	struct sqw_data_options more = { .method =
		sqw_method_by_name("gzip") };
	const struct sq_facts *f = sq_facts(i->m);
	const char *kernel = i->p->o.kernel;
	char record[SQW_RECORD_MAX], time[UTC_B], why[256];
	int can, n;

	print_compressor(f);
	n = sq_file_padding(&i->file, record, sizeof(record));
	if (n > 0 && sqw_record_read(record, (size_t)n, &more) == 1 &&
	    sqw_record_make(&more, record) > 0)
		printf("more settings: %s", strchr(record, ' ') + 1);
	printf("block size: %u\nflags: 0x%04x", f->block, f->flags);
	for (size_t k = 0; k < sizeof(flags) / sizeof(*flags); k++)
		if ((f->flags & flags[k].bit) != 0)
			printf(" %s", flags[k].name);
	printf("\ninodes: %u\nfragment blocks: %u\nowners: %u\n", f->inodes,
	    f->fragments, f->ids);
	printf("extended attributes: %s\n", f->xattrs ? "yes" : "no");
	printf("bytes used: %llu\n", (unsigned long long)f->used_B);
	/* the format stores whole seconds */
	utc_text(time, (int64_t)f->mtime * 1000000000);
	printf("created: %.19sZ\n", time);
	can = sq_can_mount(&i->file, kernel, why, sizeof(why));
	if (can < -1)
		msg_error(&i->p->msg, "%s: %s", kernel, strerror(-can));
	else
		printf("mounted by %s: %s: %s\n", kernel != NULL ? kernel :
		    "this kernel", answers[can + 1], why);
	putchar('\n');
}

static void
print_long(const struct sq_image *m, const struct sq_entry *e)
{
	char mode[LISTING_MODE_B] = "??????????", owner[32] = "?/?";
	char size[32], stored[32] = "-", time[UTC_B];
	int pad;

	if (e->mode != 0)
		listing_mode(mode, e->mode);
	if (e->has_owner)
		snprintf(owner, sizeof(owner), "%u/%u", e->uid, e->gid);
	if (S_ISBLK(e->mode) || S_ISCHR(e->mode))
		snprintf(size, sizeof(size), "%u,%3u",
		    squashfs_major(e->rdev), squashfs_minor(e->rdev));
	else
		snprintf(size, sizeof(size), "%llu",
		    (unsigned long long)e->size);
	/* its own blocks; "+": and a tail in a fragment block */
	if (S_ISREG(e->mode) && !e->lost)
		snprintf(stored, sizeof(stored), "%llu%s",
		    (unsigned long long)sq_stored(e),
		    sq_tail_len(m, e) > 0 ? "+" : "");
	utc_text(time, (int64_t)e->mtime * 1000000000);
	time[10] = ' ';
	pad = WIDTH - (int)strlen(owner) - 1;
	printf("%s %s %*s %10s %.16s ", mode, owner, pad < 0 ? 0 : pad, size,
	    stored, time);
}

int
sqpack_list(struct sqpack_image *i)
{
	bool is_long = i->p->msg.verbose > 0, confined;
	size_t count = sq_count(i->m);

	if (is_long)
		print_facts(i);
	sandbox_enter(&confined);
	/* the root is listed only in the long form */
	for (size_t n = is_long ? 0 : 1; n < count; n++) {
		struct sq_entry e;
		const char *path;

		if (i->wanted[n] != SQ_IN)
			continue;
		path = sqpack_image_path(i, n);
		if (path == NULL)
			return -ENOMEM;
		sq_get(i->m, n, &e);
		if (is_long)
			print_long(i->m, &e);
		listing_print(stdout, n == 0 ? "." : path,
		    n == 0 ? 1 : strlen(path));
		if (S_ISDIR(e.mode) && n != 0)
			putchar('/');
		if (is_long && S_ISLNK(e.mode)) {
			fputs(" -> ", stdout);
			listing_print(stdout, e.target, (size_t)e.size);
		}
		putchar('\n');
	}
	return 0;
}

int
sqpack_mount(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	char why[256];
	int can = sq_can_mount(&i->file, p->o.kernel, why, sizeof(why));

	if (can < -1)
		msg_error(&p->msg, "%s: %s", p->o.kernel, strerror(-can));
	else
		printf("%s: %s\n", can == 1 ? "yes" :
		    can == 0 ? "no" : "unknown", why);
	if (can == 1)
		return 0;
	return can == 0 ? -ENOTSUP : -ENOENT;
}
