/*
 * sqpack_facts.c - describing an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source for compressor options: the format description.
 */
#include "sqpack_read.h"

#include "base/bytes.h"
#include "base/utc.h"
#include "image/squashfs/write/record.h"

#include <string.h>

const char *const sqpack_strategies[SQPACK_STRATEGIES] = { "default",
	"filtered", "huffman_only", "run_length_encoded", "fixed" };
const char *const sqpack_lzos[SQPACK_LZOS] = { "lzo1x_1", "lzo1x_1_11",
	"lzo1x_1_12", "lzo1x_1_15", "lzo1x_999" };

static uint32_t
setting(const struct sq_facts *f, size_t at, uint32_t otherwise)
{
	return f->settings_B < at + 4 ? otherwise :
	    load_le32(f->settings + at);
}

static void
print_lzo(const struct sq_facts *f)
{
	uint32_t n = setting(f, 0, 4);

	if (n >= SQPACK_LZOS)
		printf(", algorithm %u", n);
	else if (n == 4)
		printf(", %s, level %u", sqpack_lzos[n], setting(f, 4, 8));
	else
		printf(", %s", sqpack_lzos[n]);
}

static void
print_xz(const struct sq_facts *f)
{
	uint32_t filters = setting(f, 4, 0);

	printf(", dictionary %u", setting(f, 0, f->block));
	for (size_t i = 0; i < SQW_FILTERS; i++)
		if ((filters & 1U << i) != 0)
			printf(", filter %s", sqw_filters[i]);
}

static void
print_gzip(const struct sq_facts *f)
{
	uint32_t word = setting(f, 4, 15), strategies = word >> 16;

	printf(", level %u, window %u", setting(f, 0, 9), word & 0xffff);
	for (size_t i = 0; i < SQPACK_STRATEGIES; i++)
		if ((strategies & 1U << i) != 0)
			printf(", strategy %s", sqpack_strategies[i]);
}

static void
print_compressor(const struct sqpack_image *i)
{
	const struct sq_facts *f = sq_facts(i->m);

	printf("compressor: %s", sq_compressor_name(f->compressor));
	switch (f->compressor) {
	case SQUASHFS_GZIP:
		print_gzip(f);
		break;
	case SQUASHFS_LZO:
		print_lzo(f);
		break;
	case SQUASHFS_XZ:
		print_xz(f);
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

static void
print_flags(const struct sq_facts *f)
{
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

	printf("flags: 0x%04x", f->flags);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if ((f->flags & flags[i].bit) != 0)
			printf(" %s", flags[i].name);
	putchar('\n');
}

/*
 * Prints the settings for which the format has no field; see
 * image/squashfs/write/record.h.
 */
static void
print_record(const struct sqpack_image *i)
{
	struct sqw_data_options o = { .method = sqw_method_by_name("gzip") };
	char text[SQW_RECORD_MAX];
	int n = sq_file_padding(&i->file, text, sizeof(text));

	if (n > 0 && sqw_record_read(text, (size_t)n, &o) == 1 &&
	    sqw_record_make(&o, text) > 0)
		printf("more settings: %s", strchr(text, ' ') + 1);
}

void
sqpack_print_facts(const struct sqpack_image *i)
{
	static const char *const answers[] = { "unknown", "no", "yes" };
	const struct sq_facts *f = sq_facts(i->m);
	const char *kernel = i->p->o.kernel;
	char time[UTC_B], why[256];
	int can;

	utc_text(time, (int64_t)f->mtime * 1000000000);
	print_compressor(i);
	print_record(i);
	printf("block size: %u\n", f->block);
	print_flags(f);
	printf("inodes: %u\nfragment blocks: %u\nowners: %u\n", f->inodes,
	    f->fragments, f->ids);
	printf("extended attributes: %s\n", f->xattrs ? "yes" : "no");
	printf("bytes used: %llu\n", (unsigned long long)f->used_B);
	/* the format stores whole seconds */
	printf("created: %.19sZ\n", time);
	can = sq_can_mount(&i->file, kernel, why, sizeof(why));
	if (can < -1)
		msg_error(&i->p->msg, "%s: %s", kernel, strerror(-can));
	else
		printf("mounted by %s: %s: %s\n", kernel != NULL ? kernel :
		    "this kernel", answers[can + 1], why);
	putchar('\n');
}
