/*
 * pack_ztoc_write.c - writing a ztoc once its layer has been read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_ztoc.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "lazy/format.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

static const char tool[] = "coldpress " COLDPRESS_VERSION;

int
ztoc_level(const struct ztoc_job *j)
{
	return j->o->level < 0 ? ZTOC_LEVEL : j->o->level;
}

static int
write_index(struct ztoc_job *j, struct flatbuf_writer *w,
    int (*put)(void *arg, const void *data, size_t len), void *arg)
{
	uint32_t version, name, toc = 0, compression = 0;
	int rc;

	version = flatbuf_put_string(w, ZTOC_THE_VERSION,
	    strlen(ZTOC_THE_VERSION));
	name = flatbuf_put_string(w, tool, strlen(tool));
	rc = pack_ztoc_entries_write(j->entries, w, &toc);
	if (rc == 0)
		rc = pack_ztoc_spans_write(j->spans, w, &compression);
	if (rc != 0)
		return rc;
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, ZTOC_VERSION, version);
	flatbuf_put_ref(w, ZTOC_TOOL, name);
	flatbuf_put_ref(w, ZTOC_TOC, toc);
	flatbuf_put_u64(w, ZTOC_STORED, pack_ztoc_spans_stored(j->spans));
	flatbuf_put_u64(w, ZTOC_CONTENT, j->archive);
	flatbuf_put_ref(w, ZTOC_COMPRESSION, compression);
	return flatbuf_finish(w, flatbuf_table_end(w), put, arg);
}

/* Compressing the index of the packed variant */

struct packer {
	struct ztoc_job *j;
	ZSTD_CCtx *z;
	struct digest *digest;		/* digest of the frame */
	uint8_t room[64 << 10];
};

static int
pack_bytes(struct packer *p, const void *data, size_t len,
    ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { p->room, sizeof(p->room), 0 };
		int rc;

		left = ZSTD_compressStream2(p->z, &out, &in, end);
		if (ZSTD_isError(left))
			return -ENOMEM;
		rc = digest_add(p->digest, p->room, out.pos);
		if (rc == 0)
			rc = ztoc_output_put(&p->j->out, p->room, out.pos);
		if (rc != 0)
			return rc;
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static int
put_packed(void *arg, const void *data, size_t len)
{
	struct packer *p = arg;

	p->j->r->index_content += len;
	return pack_bytes(p, data, len, ZSTD_e_continue);
}

static int
write_footer(struct ztoc_job *j)
{
	uint8_t footer[ZTOC_FOOTER];

	store_le32(footer, ZTOC_FOOTER_MAGIC);
	store_le32(footer + 4, ZTOC_FOOTER - 8);
	store_le64(footer + 8, j->r->index_offset);
	store_le64(footer + 16, j->r->index_length);
	store_le64(footer + 24, j->r->index_content);
	store_le64(footer + 32, ZTOC_MAGIC);
	return ztoc_output_put(&j->out, footer, sizeof(footer));
}

static int
write_packed(struct ztoc_job *j, struct flatbuf_writer *w)
{
	struct packer *p = sys_calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return -ENOMEM;
	p->j = j;
	p->z = ZSTD_createCCtx();
	rc = p->z == NULL ? -ENOMEM : digest_new(&p->digest, j->sha256);
	if (rc != 0)
		goto out;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(p->z,
	    ZSTD_c_compressionLevel, ztoc_level(j)))) {
		rc = -EINVAL;
		goto out;
	}
	rc = digest_start(p->digest);
	if (rc != 0)
		goto out;
	j->r->index_offset = j->out.len;
	rc = write_index(j, w, put_packed, p);
	if (rc == 0)
		rc = pack_bytes(p, NULL, 0, ZSTD_e_end);
	if (rc != 0)
		goto out;
	j->r->index_length = j->out.len - j->r->index_offset;
	rc = digest_end(p->digest, j->r->index_digest);
out:
	ZSTD_freeCCtx(p->z);
	digest_free(p->digest);
	sys_free(p);
	return rc != 0 ? rc : write_footer(j);
}

int
pack_ztoc_write(struct ztoc_job *j)
{
	struct flatbuf_writer *w;
	int rc = flatbuf_writer_open(&w, j->o->tmpdir);

	if (rc == 0)
		rc = j->packed ? write_packed(j, w) :
		    write_index(j, w, ztoc_output_put, &j->out);
	flatbuf_writer_close(w);
	if (rc == -EFBIG)
		return layer_refuse(j->why, rc, "the index would exceed the "
		    "2 GiB limit of a FlatBuffer; larger spans (-c) make it "
		    "smaller");
	return rc;
}
