/*
 * kernel_config.h - the configuration of the running kernel
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's own configuration, in /proc/config.gz or, on most
 * distributions, /boot/config-RELEASE (also /lib/modules/RELEASE).
 */
#ifndef COLDPRESS_KERNEL_CONFIG_H
#define COLDPRESS_KERNEL_CONFIG_H

#include <stddef.h>

/*
 * Writes all options that are set and whose names begin with prefix, such as
 * CONFIG_SQUASHFS.  The prefix is omitted, as in "SQUASHFS=y DECOMP_SINGLE=y",
 * and the text is truncated to size - 1.  Returns 0, or -ENOENT if no
 * configuration can be read.  Thread-safe.
 */
int kernel_config(const char *prefix, char *text, size_t size);

/*
 * Like kernel_config(), but reads a configuration file, which may be compressed
 * with gzip.  Returns 0 or -errno.
 */
int kernel_config_file(const char *path, const char *prefix, char *text,
    size_t size);

#endif
