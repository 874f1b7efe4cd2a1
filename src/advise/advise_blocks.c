/*
 * advise_blocks.c - one unit compressed as blocks of a filesystem, and back
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks go through the packers of fsratio.
 */
#include "advise_frame.h"

#include "base/sys.h"
#include "engine/packer/packer.h"
#include "fs/fs_model.h"
#include "fs/fs_one.h"

#include <errno.h>
#include <lz4.h>
#include <lzma.h>
#ifdef COLDPRESS_LZO
#include <lzo/lzo1x.h>
#endif
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Decompresses a block of n bytes to `to`.  Returns its length; 0: it fails. */
static size_t
back_zlib(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	uLongf len = room;

	return uncompress(to, &len, from, n) == Z_OK ? len : 0;
}

static size_t
back_zstd(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	size_t len = ZSTD_decompress(to, room, from, n);

	return ZSTD_isError(len) ? 0 : len;
}

static size_t
back_lz4(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	int len = LZ4_decompress_safe((const char *)from, (char *)to, (int)n,
	    (int)room);

	return len < 0 ? 0 : (size_t)len;
}

static size_t
back_xz(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	uint64_t limit = UINT64_MAX;
	size_t at = 0, len = 0;

	return lzma_stream_buffer_decode(&limit, 0, NULL, from, &at, n, to,
	    &len, room) == LZMA_OK ? len : 0;
}

#ifdef COLDPRESS_LZO
static size_t
back_lzo(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	lzo_uint len = room;

	return lzo1x_decompress_safe(from, n, to, &len, NULL) == LZO_E_OK ?
	    len : 0;
}
#endif

static const struct {
	const char *format;
	size_t (*back)(const uint8_t *from, size_t n, uint8_t *to, size_t room);
} decoders[] = { { "gzip", back_zlib }, { "zlib", back_zlib },
    { "zstd", back_zstd }, { "lz4", back_lz4 },
#ifdef COLDPRESS_LZO
    { "lzo", back_lzo },
#endif
    { "xz", back_xz } };

/*
 * Measures how long it takes to decompress a block, as mksquashfs compresses
 * it, since sqpack's packers keep their output to themselves; the level hardly
 * matters for that.
 */
static int
time_back(const char *format, const struct packer_kind *kinds,
    const uint8_t *data, size_t len, uint8_t *to, struct advise_trial *t)
{
	struct packer_name name;
	struct packer *p = NULL;
	char text[32];
	size_t k = 0, packed;
	double start;
	int rc;

	while (strcmp(decoders[k].format, format) != 0)
		k++;
	snprintf(text, sizeof(text), strcmp(format, "lz4") == 0 ||
	    strcmp(format, "xz") == 0 ? "%s" : "%s-3", format);
	rc = packer_by_name(kinds, text, &name);
	if (rc == 0)
		rc = packer_open(&p, &name, len);
	if (rc != 0)
		return rc;
	packed = packer_pack(p, data, len, len);
	start = advise_cpu_now(t);
	if (packed > 0 && (decoders[k].back(packer_out(p), packed, to, len) !=
	    len || memcmp(to, data, len) != 0))
		rc = -EIO;
	t->back_cpu_s += advise_cpu_now(t) - start;
	packer_close(p);
	return rc;
}

/* The packer of a candidate. */
static int
open_packer(struct packer **p, struct packer_name *name,
    const struct packer_kind *kinds, const struct advise_candidate *c,
    size_t most)
{
	char text[32];
	int rc;

	/* xz has no levels; zstd-19-1M differs from zstd-19 in its block */
	snprintf(text, sizeof(text), c->level > 0 ? "%s-%d" : "%s", c->format,
	    c->level);
	rc = packer_by_name(kinds, text, name);
	return rc != 0 ? rc : packer_open(p, name, most);
}

int
advise_try_blocks(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t)
{
	struct packer_name name;
	struct packer *p = NULL;
	uint8_t *to = sys_malloc(c->block);
	int rc = to == NULL ? -ENOMEM : open_packer(&p, &name,
	    fs_model_sqpack.kinds, c, c->block);

	for (size_t at = 0; at < len && rc == 0; at += c->block) {
		size_t n = len - at < c->block ? len - at : c->block, packed;
		double start = advise_cpu_now(t);

		packed = packer_pack(p, data + at, n, c->block);
		t->size += packed == 0 ? n : packed;
		t->cpu_s += advise_cpu_now(t) - start;
		if (t->timed)
			rc = time_back(c->format, packers_squashfs, data + at,
			    n, to, t);
	}
	packer_close(p);
	sys_free(to);
	return rc;
}

int
advise_try_chunks(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t)
{
	/* where a part is in its file only matters if it is the beginning */
	uint64_t from = t->first ? 0 : FS_CHUNK;
	struct packer_name name;
	struct packer *p = NULL;
	uint8_t *chunk = sys_malloc(FS_CHUNK), *to = sys_malloc(FS_CHUNK);
	int rc = chunk == NULL || to == NULL ? -ENOMEM : open_packer(&p, &name,
	    packers_btrfs, c, c->block);

	for (size_t at = 0; at < len && rc == 0; at += FS_CHUNK) {
		size_t n = len - at < FS_CHUNK ? len - at : FS_CHUNK;
		double start = advise_cpu_now(t);

		memcpy(chunk, data + at, n);
		t->size += fs_one_chunk(p, chunk, from + at, from + len);
		t->cpu_s += advise_cpu_now(t) - start;
		for (size_t i = 0; i < n && t->timed && rc == 0; i += c->block)
			rc = time_back(c->format, packers_btrfs, chunk + i,
			    n - i < c->block ? n - i : c->block, to, t);
	}
	packer_close(p);
	sys_free(chunk);
	sys_free(to);
	return rc;
}

int
advise_try_records(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t)
{
	static const char *const probe_names[2] = { "lz4", "zstd-1" };
	/* a part belongs to a file of more than one record */
	uint64_t file_size = t->part ? UINT64_MAX : len;
	struct packer *p = NULL, *probes[2] = { NULL, NULL };
	uint8_t *record = sys_malloc(c->block), *to = sys_malloc(c->block);
	struct packer_name name, probe;
	int rc = record == NULL || to == NULL ? -ENOMEM :
	    open_packer(&p, &name, packers_zfs, c, c->block);

	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		rc = packer_by_name(packers_zfs, probe_names[i], &probe);
		if (rc == 0)
			rc = packer_open(&probes[i], &probe, c->block);
	}
	for (size_t at = 0; at < len && rc == 0; at += c->block) {
		size_t n = len - at < c->block ? len - at : c->block;
		double start = advise_cpu_now(t);

		memcpy(record, data + at, n);
		t->size += fs_one_record(&name, p, probes, record, (uint32_t)n,
		    c->block, file_size);
		t->cpu_s += advise_cpu_now(t) - start;
		/* the same compressed data, but for a header */
		if (t->timed)
			rc = time_back(c->format, packers_squashfs, record, n,
			    to, t);
	}
	for (unsigned i = 0; i < 2; i++)
		packer_close(probes[i]);
	packer_close(p);
	sys_free(record);
	sys_free(to);
	return rc;
}
