/*
 * as_unsquashfs.h - declarations shared by the files that replace unsquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_AS_UNSQUASHFS_H
#define COLDPRESS_SQPACK_AS_UNSQUASHFS_H

#include "as.h"
#include "sqpack_read.h"

/* p->o.as */
struct as_unsquashfs {
	struct as_texts names;		/* to list or extract; none: all */
	bool info, is_long, concise, numeric, utc, quiet, no_exit_code;
	bool version;			/* it was printed */
};

/* The tasks return 0, or -errno after reporting the error. */
int as_unsquashfs_cat(struct sqpack *p);
int as_unsquashfs_extract(struct sqpack *p);
int as_unsquashfs_list(struct sqpack *p);
int as_unsquashfs_stat(struct sqpack *p);
int as_unsquashfs_time(struct sqpack *p);

#endif
