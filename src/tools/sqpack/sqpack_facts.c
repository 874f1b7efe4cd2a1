/*
 * sqpack_facts.c - describing an image, and which kernels can mount it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources for compressor options and kernel versions: the format description,
 * and Linux's fs/squashfs/Kconfig.
 */
#include "sqpack_read.h"

#include "base/bytes.h"
#include "base/utc.h"
#include "image/squashfs/write/record.h"
#include "measure/kernel_config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct compressor {
	const char *name;
	const char *option;		/* after CONFIG_SQUASHFS_ */
	unsigned major, minor;		/* first Linux version that supports
					 * it */
};

static const struct compressor compressors[] = {
	[SQUASHFS_GZIP] = { "gzip", "ZLIB", 2, 6 },
	[SQUASHFS_LZMA] = { "lzma", NULL, 0, 0 },
	[SQUASHFS_LZO] = { "lzo", "LZO", 2, 6 },
	[SQUASHFS_XZ] = { "xz", "XZ", 2, 6 },
	[SQUASHFS_LZ4] = { "lz4", "LZ4", 3, 19 },
	[SQUASHFS_ZSTD] = { "zstd", "ZSTD", 4, 14 },
};

const char *const sqpack_strategies[SQPACK_STRATEGIES] = { "default",
	"filtered", "huffman_only", "run_length_encoded", "fixed" };
const char *const sqpack_lzos[SQPACK_LZOS] = { "lzo1x_1", "lzo1x_1_11",
	"lzo1x_1_12", "lzo1x_1_15", "lzo1x_999" };

/*
 * Returns the compressor.  This cannot fail, because an image with an unknown
 * compressor cannot be opened.
 */
static const struct compressor *
compressor_of(const struct sqpack_image *i)
{
	return &compressors[sq_facts(i->m)->compressor];
}

const char *
sqpack_compressor_name(const struct sqpack_image *i)
{
	return compressor_of(i)->name;
}

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

	printf("compressor: %s", compressor_of(i)->name);
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
	can = sqpack_can_mount(i, kernel, why, sizeof(why));
	if (can < -1)
		msg_error(&i->p->msg, "%s: %s", kernel, strerror(-can));
	else
		printf("mounted by %s: %s: %s\n", kernel != NULL ? kernel :
		    "this kernel", answers[can + 1], why);
	putchar('\n');
}

/*
 * Returns whether the kernel options, such as "SQUASHFS=y ZSTD=y", include the
 * named option.
 */
static bool
has_option(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = text; (s = strstr(s, name)) != NULL; s += n)
		if ((s == text || s[-1] == ' ') && s[n] == '=' &&
		    (s[n + 1] == 'y' || s[n + 1] == 'm'))
			return true;
	return false;
}

static int
by_config(const struct compressor *c, const char *text, char *why,
    size_t size)
{
	if (!has_option(text, "SQUASHFS")) {
		snprintf(why, size, "CONFIG_SQUASHFS is not set");
		return 0;
	}
	if (!has_option(text, c->option)) {
		snprintf(why, size, "CONFIG_SQUASHFS_%s is not set",
		    c->option);
		return 0;
	}
	snprintf(why, size, "CONFIG_SQUASHFS and CONFIG_SQUASHFS_%s are set",
	    c->option);
	return 1;
}

/*
 * Parses a version, "6.1" or "6.1.0-18-amd64".  Returns false for a file name.
 */
static bool
take_version(const char *text, unsigned *major, unsigned *minor)
{
	char end;
	int n = sscanf(text, "%3u.%5u%c", major, minor, &end);

	return strchr(text, '/') == NULL && (n == 2 || (n == 3 &&
	    (end == '.' || end == '-' || end == '+')));
}

static int
by_version(const struct compressor *c, unsigned major, unsigned minor,
    char *why, size_t size)
{
	if (major < c->major || (major == c->major && minor < c->minor)) {
		snprintf(why, size, "%s was added in Linux %u.%u", c->name,
		    c->major, c->minor);
		return 0;
	}
	snprintf(why, size, "if it was built with CONFIG_SQUASHFS_%s",
	    c->option);
	return 1;
}

int
sqpack_can_mount(const struct sqpack_image *i, const char *kernel, char *why,
    size_t size)
{
	const struct compressor *c = compressor_of(i);
	char text[4096];
	unsigned major, minor;
	int rc;

	if (i->refused) {
		snprintf(why, size, "the image is damaged");
		return 0;
	}
	if (c->option == NULL) {
		snprintf(why, size, "Linux does not support %s", c->name);
		return 0;
	}
	if (kernel != NULL && access(kernel, F_OK) == -1 &&
	    take_version(kernel, &major, &minor))
		return by_version(c, major, minor, why, size);
	rc = kernel == NULL ? kernel_config("CONFIG_SQUASHFS", text,
	    sizeof(text)) : kernel_config_file(kernel, "CONFIG_SQUASHFS",
	    text, sizeof(text));
	if (rc == 0)
		return by_config(c, text, why, size);
	if (kernel != NULL)
		return rc;
	snprintf(why, size, "CONFIG_SQUASHFS_%s is needed, but the kernel's "
	    "configuration cannot be read", c->option);
	return -1;
}
