/*
 * vfs_source.c - one layer: opening it, and reading its bytes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_private.h"

#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/oci/oci.h"
#include "lazy/blobs_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int
vfs_refuse(const struct vfs_report *r, const char *name, int rc,
    const char *why)
{
	r->fail(r->arg, name, *why == '\0' ? strerror(-rc) : why);
	return rc;
}

/* Reading */

int
vfs_source_read(struct vfs_source *s, const struct layer_range *r,
    size_t count, enum http_phase phase)
{
	return count == 0 ? 0 : s->ops->read(s->arg, r, count, phase);
}

int
vfs_source_fetch(struct vfs_source *s, const struct layer_range *r,
    size_t count, enum http_phase phase)
{
	return (s->ops->fetch != NULL ? s->ops->fetch : s->ops->read)(s->arg,
	    r, count, phase);
}

void
vfs_source_forget(struct vfs_source *s, const struct layer_range *r)
{
	if (s->ops->forget != NULL)
		s->ops->forget(s->arg, r);
}

static int
read_index(void *arg, const struct layer_range *r, size_t count)
{
	return vfs_source_read(arg, r, count, HTTP_INDEX);
}

static int
size_of_index(void *arg, const char *object, uint64_t *size)
{
	struct vfs_source *s = arg;

	return s->ops->size(s->arg, object, size);
}

/* Files */

static int
read_local(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	const struct layer_blobs *b = blobs_file_blobs(arg);

	(void)phase;
	return b->read(b->arg, r, count);
}

static int
size_of_local(void *arg, const char *object, uint64_t *size)
{
	const struct layer_blobs *b = blobs_file_blobs(arg);

	return b->size(b->arg, object, size);
}

static void
close_local(void *arg)
{
	blobs_file_close(arg);
}

/* Opening */

#define ESTARGZ_DIGEST "containerd.io/snapshot/stargz/toc.digest"
/*
 * containers/storage writes the first name, and the stargz project the second.
 */
static const char *const chunked_digest[] = {
	"io.github.containers.zstd-chunked.manifest-checksum",
	"io.containers.zstd-chunked.manifest-checksum", NULL };
static const char *const chunked_place[] = {
	"io.github.containers.zstd-chunked.manifest-position",
	"io.containers.zstd-chunked.manifest-position", NULL };

static const char *
annotation(const struct oci_document *d, size_t which,
    const char *const *names)
{
	const char *text = NULL;

	for (; text == NULL && *names != NULL; names++)
		text = oci_annotation(d, which, *names);
	return text;
}

/* Returns whether the error was caused by wrong data in the layer. */
static bool
is_wrong(int rc)
{
	return rc == -EBADMSG || rc == -EINVAL || rc == -EFBIG ||
	    rc == -ENODATA;
}

static bool
forget_all(struct vfs_source *s)
{
	return s->ops->forget_all != NULL && s->ops->forget_all(s->arg);
}

static int
open_checked(struct vfs_source *s, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	int rc = layer_open(&s->layer, &s->blobs, e, why);

	if (is_wrong(rc) && forget_all(s))
		rc = layer_open(&s->layer, &s->blobs, e, why);
	/* the next process must not use these bytes either */
	if (is_wrong(rc))
		(void)forget_all(s);
	return rc;
}

/* What is known about a layer, with its digests. */
struct knowledge {
	struct layer_expect e;
	uint8_t index_digest[LAYER_DIGEST], compact_digest[LAYER_DIGEST];
};

/*
 * Sets what the caller, or the manifest (NULL: none), says about a layer, and
 * whether that vouches for its index.  Returns 0, or -errno after reporting.
 */
static int
know(struct vfs_source *s, struct knowledge *k,
    const struct vfs_report *report, const struct vfs_expect *known,
    const struct oci_document *manifest, size_t which)
{
	const char *digest = known->index_digest, *place = NULL;
	const char *compact = digest;
	struct layer_expect *e = &k->e;
	unsigned type;
	int rc;

	*e = (struct layer_expect){ .kind = known->kind,
		.key_digest = known->key, .parts = known->parts,
		.part = known->part };
	if (manifest != NULL && digest == NULL) {
		digest = oci_annotation(manifest, which, ESTARGZ_DIGEST);
		place = annotation(manifest, which, chunked_place);
		if (digest == NULL)
			digest = annotation(manifest, which, chunked_digest);
		compact = oci_annotation(manifest, which, LAYER_COMPACT);
	}
	/* the digest that the caller knows may be that of a compact index */
	if (compact == NULL ||
	    layer_expect_compact(e, k->compact_digest, compact) != 0 ||
	    compact != digest) {
		/* "offset:length:content:type" */
		if (place != NULL && (sscanf(place, "%" SCNu64 ":%" SCNu64
		    ":%" SCNu64 ":%u", &e->index_offset, &e->index_length,
		    &e->index_content, &type) != 4 || type != 1))
			e->index_length = 0;
		if (digest != NULL) {
			e->index_digest = k->index_digest;
			rc = hex_read_sha256(k->index_digest, digest);
			if (rc != 0)
				return vfs_refuse(report, s->name, rc, "the "
				    "digest of the index is not sha256: "
				    "followed by 64 hexadecimal digits");
		}
	}
	s->vouched = e->index_digest != NULL || e->compact_digest != NULL;
	return 0;
}

/* Opens the layer whose bytes s->ops gives. */
static int
open_source(struct vfs_source *s, const struct vfs_report *report,
    struct knowledge *k)
{
	char why[LAYER_WHY] = "", own[LAYER_WHY] = "", text[LAYER_WHY + 64];
	struct layer_expect *e = &k->e;
	int rc;

	s->blobs = (struct layer_blobs){ .read = read_index,
		.size = size_of_index, .arg = s };
	rc = open_checked(s, e, why);
	/* a wrong compact index does no harm if the other's digest is known */
	if (is_wrong(rc) && e->compact_digest != NULL &&
	    e->index_digest != NULL) {
		snprintf(text, sizeof(text), "%s; using the other index", why);
		report->warn(report->arg, s->name, text);
		e->compact_digest = NULL;
		rc = open_checked(s, e, why);
	}
	if (rc == 0)
		return 0;
	if (rc != -EBADMSG && rc != -EINVAL && s->ops->why != NULL)
		s->ops->why(s->arg, own);
	return vfs_refuse(report, s->name, rc, *own != '\0' ? own : why);
}

int
vfs_source_open(struct vfs_source *s, const char *name,
    const struct vfs_remote *remote, const struct vfs_expect *expect,
    const struct oci_document *manifest, size_t which)
{
	static const struct vfs_source_ops local = { .read = read_local,
		.size = size_of_local, .close = close_local };
	char why[LAYER_WHY] = "";
	struct blobs_file *file;
	struct knowledge k;
	int rc;

	*s = (struct vfs_source){ .name = strcopy(name) };
	if (s->name == NULL)
		return vfs_refuse(&remote->report, name, -ENOMEM, "");
	rc = know(s, &k, &remote->report, expect, manifest, which);
	if (rc != 0)
		return rc;
	if (strncmp(name, "http://", 7) == 0 ||
	    strncmp(name, "https://", 8) == 0) {
		rc = vfs_remote_open(s, remote, expect->side,
		    expect->kind != NULL && strcmp(expect->kind, "cas") == 0,
		    why);
	} else {
		rc = blobs_file_open(&file, name, expect->side);
		if (rc == 0) {
			s->ops = &local;
			s->arg = file;
			s->local = true;
		} else if (rc == -EINVAL) {
			snprintf(why, sizeof(why),
			    "not a regular file or directory");
		}
	}
	if (rc != 0)
		return vfs_refuse(&remote->report, name, rc, why);
	return open_source(s, &remote->report, &k);
}

int
vfs_source_open_ops(struct vfs_source *s, const char *name,
    const struct vfs_source_ops *ops, void *arg,
    const struct vfs_report *report, const struct vfs_expect *expect,
    const struct oci_document *manifest, size_t which)
{
	*s = (struct vfs_source){ .name = strcopy(name), .ops = ops,
		.arg = arg };
	struct knowledge k;
	int rc;

	if (s->name == NULL)
		return vfs_refuse(report, name, -ENOMEM, "");
	rc = know(s, &k, report, expect, manifest, which);
	return rc != 0 ? rc : open_source(s, report, &k);
}

void
vfs_source_close(struct vfs_source *s)
{
	layer_close(s->layer);
	if (s->ops != NULL && s->ops->close != NULL)
		s->ops->close(s->arg);
	sys_free(s->name);
	*s = (struct vfs_source){ .name = NULL };
}
