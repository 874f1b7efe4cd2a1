/*
 * kernel_config.h - how the running kernel was built
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's own configuration, in /proc/config.gz or, as
 * distributions have it, /boot/config-RELEASE (also /lib/modules/RELEASE).
 */
#ifndef COLDPRESS_KERNEL_CONFIG_H
#define COLDPRESS_KERNEL_CONFIG_H

#include <stddef.h>

/*
 * The options set whose names begin with prefix (CONFIG_SQUASHFS), without
 * it, as "SQUASHFS=y DECOMP_SINGLE=y"; cut to size - 1.  0, or
 * -ENOENT: no configuration can be read.  Thread-safe.
 */
int kernel_config(const char *prefix, char *text, size_t size);

/* The same of a configuration in a file, compressed by gzip or not; -errno. */
int kernel_config_file(const char *path, const char *prefix, char *text,
    size_t size);

#endif
