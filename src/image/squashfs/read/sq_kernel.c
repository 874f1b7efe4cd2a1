/*
 * sq_kernel.c - which kernels can mount an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source for kernel options and versions: Linux's fs/squashfs/Kconfig.
 */
#include "image/squashfs/read/reader.h"

#include "base/sys.h"
#include "measure/kernel_config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

const char *
sq_compressor_name(int compressor)
{
	return compressors[compressor].name;
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

int
sq_can_mount(const struct sq_file *f, const char *kernel, char *why,
    size_t size)
{
	const struct compressor *c =
	    &compressors[sq_facts(f->image)->compressor];
	struct stat st;
	char text[4096], end;
	unsigned major, minor;
	int rc;

	if (f->refused) {
		snprintf(why, size, "the image is damaged");
		return 0;
	}
	if (c->option == NULL) {
		snprintf(why, size, "Linux does not support %s", c->name);
		return 0;
	}
	/* a version, "6.1" or "6.1.0-18-amd64", unless it is a file's name */
	if (kernel != NULL && sys_fstatat(AT_FDCWD, kernel, &st, 0) != 0 &&
	    strchr(kernel, '/') == NULL) {
		rc = sscanf(kernel, "%3u.%5u%c", &major, &minor, &end);
		if (rc == 2 || (rc == 3 && strchr(".-+", end) != NULL)) {
			if (major < c->major ||
			    (major == c->major && minor < c->minor)) {
				snprintf(why, size,
				    "%s was added in Linux %u.%u", c->name,
				    c->major, c->minor);
				return 0;
			}
			snprintf(why, size,
			    "if it was built with CONFIG_SQUASHFS_%s",
			    c->option);
			return 1;
		}
	}
	rc = kernel == NULL ? kernel_config("CONFIG_SQUASHFS", text,
	    sizeof(text)) : kernel_config_file(kernel, "CONFIG_SQUASHFS",
	    text, sizeof(text));
	if (rc != 0 && kernel != NULL)
		return rc;
	if (rc != 0) {
		snprintf(why, size, "CONFIG_SQUASHFS_%s is needed, but the "
		    "kernel's configuration cannot be read", c->option);
		return -1;
	}
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
