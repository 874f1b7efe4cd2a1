/*
 * pack_split.h - an archive's headers in tar-split form
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Together with the data of the files, they allow the archive to be
 * reconstructed byte for byte, so containers/storage can reconstruct the
 * archive that it would have pulled.  Source: package tar/storage in
 * vbatts/tar-split, types Entry and Type; JSON lines, in a zstd frame.  Must be
 * used by one thread at a time.
 *
 * containers/storage (compression_linux.go) refuses a layer if the headers, as
 * Go's archive/tar reads them, and the table of contents differ in any
 * attribute or name; without the headers, it pulls the layer as a whole.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_SPLIT_H
#define COLDPRESS_LAZY_PACK_PACK_SPLIT_H

#include "engine/crc64.h"
#include "format/tar/tar.h"
#include "pack_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_split {
	struct pack_store store;
	struct crc64 crc64;
	uint64_t crc, position;
	struct strbuf segment;		/* bytes since the last file */
	struct strbuf line;
};

/*
 * Returns whether the table of contents can say of this entry what its header
 * says to Go's archive/tar.
 */
bool pack_split_fits(const struct tar_entry *e);

/* Returns 0 or -ENOMEM. */
int pack_split_open(struct pack_split **s, int level);
void pack_split_close(struct pack_split *s);	/* may be NULL */

/*
 * These add bytes that are not file data, and remove the last n of them.  A
 * failure is reported by the next call that returns a result.
 */
void pack_split_bytes(struct pack_split *s, const void *data, size_t n);
void pack_split_cut(struct pack_split *s, size_t n);

/*
 * Records that the bytes added so far end with the header of an entry.  Returns
 * 0 or -ENOMEM.
 */
int pack_split_header(struct pack_split *s);

/* These add file data, and complete the file.  Returns 0 or -ENOMEM. */
void pack_split_data(struct pack_split *s, const void *data, size_t n);
int pack_split_file(struct pack_split *s, const char *name, uint64_t size);

/* Ends the frame.  Returns 0 or -ENOMEM. */
int pack_split_end(struct pack_split *s);

#endif
