/*
 * pull.c - fetching the layers of an image, and what they become
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/pull/pull.h"

#include "pull_layer.h"
#include "pull_tree.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/oci/oci_layout.h"
#include "lazy/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
span_arrived(void *arg, uint64_t bytes)
{
	struct progress *progress = arg;

	progress_add(progress, bytes);
	progress_draw(progress);
}

/* Starts fetching the blobs, and the progress line. */
static int
fetch_all(struct pull *p, const struct oci_blob *blobs, size_t count,
    uint64_t total_B, char base[VFS_BASE + 32], struct pull_fetch **f)
{
	const struct pull_fetch_options o = { .http = p->o.http, .base = base,
		.blobs = blobs, .count = count,
		.connections = p->o.connections, .arrived = span_arrived,
		.arg = p->o.progress };

	snprintf(base, VFS_BASE + 32, "%s/blobs/sha256:", p->name.from);
	progress_start(p->o.progress, STDERR_FILENO, total_B, p->o.quiet);
	return pull_fetch_open(f, &o);
}

static int
refuse_blob(const struct pull *p, const struct oci_blob *b, int rc,
    const char *why)
{
	char name[OCI_HEX + 16];

	progress_erase(p->o.progress);
	snprintf(name, sizeof(name), "sha256:%s", b->hex);
	return vfs_refuse(&p->o.report, name, rc, why);
}

/* A directory */

enum { PIECE = 256 << 10, AHEAD = 2 };

/* A layer, and what was read from it. */
struct unpacking {
	struct pull *p;
	struct pull_fetch *fetch;
	struct pull_layer *layers;
	size_t begun;			/* number of layers begun so far */
	struct digest *digest;		/* of the current archive */
	struct pull_tree *tree;
	/* the current layer */
	struct pull_layer *layer;
	uint8_t *piece;
	size_t at, len;			/* what is left of the piece */
	bool too_large;
};

/*
 * Begins the next layers, so that AHEAD of them are being decompressed.  One
 * thread is busy with what they become: of two, it would take as long as
 * decompression by the other, and a stream that is decompressed by both takes
 * more processor time.
 */
static int
begin_layers(struct unpacking *u, size_t n)
{
	const struct pull *p = u->p;
	unsigned threads = p->o.threads > 1 ? p->o.threads - 1 : 1;
	int rc = 0;

	while (rc == 0 && u->begun < p->count && u->begun < n + AHEAD) {
		rc = pull_layer_open(&u->layers[u->begun], u->fetch, u->begun,
		    &p->layers[u->begun], threads);
		u->begun++;
	}
	return rc;
}

/* Reads bytes of the archive, and hashes them. */
static ssize_t
read_hashed(struct unpacking *u, void *buf, size_t len)
{
	ssize_t n = pull_layer_read(u->layer, buf, len);
	int rc;

	if (n <= 0)
		return n;
	u->too_large = (uint64_t)n > u->p->o.max_B - u->p->unpacked_B;
	if (u->too_large)
		return -EFBIG;
	u->p->unpacked_B += (uint64_t)n;
	rc = digest_add(u->digest, buf, (size_t)n);
	return rc != 0 ? rc : n;
}

/* For the archive's reader, which asks for a header at a time. */
static ssize_t
read_archive(void *arg, void *buf, size_t len)
{
	struct unpacking *u = arg;
	ssize_t n;

	if (u->len == 0 && len >= PIECE)
		return read_hashed(u, buf, len);
	if (u->len == 0) {
		n = read_hashed(u, u->piece, PIECE);
		if (n <= 0)
			return n;
		u->at = 0;
		u->len = (size_t)n;
	}
	n = (ssize_t)(len < u->len ? len : u->len);
	memcpy(buf, u->piece + u->at, (size_t)n);
	u->at += (size_t)n;
	u->len -= (size_t)n;
	return n;
}

/* Compares the digest of the archive with the config. */
static int
check_archive(struct unpacking *u, size_t n, char why[LAYER_WHY])
{
	char is[HEX_SHA256];
	uint8_t sum[DIGEST_MAX];
	int rc = digest_end(u->digest, sum);

	if (rc != 0)
		return rc;
	hex_write_sha256(is, sum);
	return strcmp(is, oci_diff_id(u->p->config, n)) == 0 ? 0 :
	    layer_refuse(why, -EBADMSG, "its archive does not match the diff_id "
	    "in the config");
}

static int
unpack_layer(struct unpacking *u, size_t n)
{
	const struct tar_source source = { .read = read_archive, .arg = u };
	char why[LAYER_WHY] = "", of_layer[LAYER_WHY] = "";
	struct tar *tar = NULL;
	int rc, ended;

	u->layer = &u->layers[n];
	u->at = u->len = 0;
	rc = begin_layers(u, n);
	if (rc == 0)
		rc = digest_start(u->digest);
	if (rc == 0)
		rc = tar_open(&tar, &source);
	if (rc == 0)
		rc = pull_tree_layer(u->tree, tar, why);
	if (rc == 0)
		rc = tar_drain(tar);
	tar_close(tar);
	if (u->too_large)
		layer_refuse(why, rc, "the layers' archives are larger than "
		    "--max-size allows");
	/*
	 * a damaged layer is no archive, either: its own reason is the better
	 * one
	 */
	if (rc == 0 || rc == -ENODATA || rc == -EBADMSG) {
		ssize_t more;

		do
			more = read_hashed(u, u->piece, PIECE);
		while (more > 0);
		ended = more == 0 ? pull_layer_end(u->layer, of_layer) : 0;
		if (ended != 0) {
			rc = ended;
			strcpy(why, of_layer);
		}
	}
	if (rc == 0)
		rc = check_archive(u, n, why);
	if (rc != 0) {
		pull_fetch_stop(u->fetch);
		(void)refuse_blob(u->p, &u->p->layers[n], rc, why);
	}
	pull_layer_close(u->layer);
	return rc;
}

int
pull_tree(struct pull *p, int root, bool owner)
{
	struct unpacking u = { .p = p };
	char base[VFS_BASE + 32], why[LAYER_WHY] = "";
	struct pull_tree_counts counts;
	size_t done = 0;
	bool told = false;
	int rc;

	u.layers = sys_calloc(p->count + 1, sizeof(*u.layers));
	u.piece = sys_malloc(PIECE);
	rc = u.layers == NULL || u.piece == NULL ? -ENOMEM :
	    digest_new_sha256(&u.digest);
	if (rc == 0)
		rc = pull_tree_open(&u.tree, root, owner);
	if (rc == 0)
		rc = fetch_all(p, p->layers, p->count, p->total_B, base,
		    &u.fetch);
	while (rc == 0 && done < p->count) {
		rc = unpack_layer(&u, done);
		done++;
		told = rc != 0;
	}
	if (rc == 0)
		rc = pull_tree_finish(u.tree, why);
	progress_end(p->o.progress);
	if (rc != 0 && !told)
		(void)vfs_refuse(&p->o.report, p->name.base, rc, why);
	if (u.fetch != NULL)
		pull_fetch_stop(u.fetch);
	for (; done < u.begun; done++)
		pull_layer_close(&u.layers[done]);
	if (u.tree != NULL) {
		pull_tree_counted(u.tree, &counts);
		p->entries = counts.entries;
		p->devices = counts.devices;
		p->attributes = counts.attributes;
	}
	pull_tree_close(u.tree);
	pull_fetch_close(u.fetch);
	digest_free(u.digest);
	sys_free(u.piece);
	sys_free(u.layers);
	return rc;
}

/* A layout */

/* Stores blob n, as it arrives. */
static int
store_blob(struct pull *p, struct pull_fetch *f, size_t n,
    const struct oci_blob *b, struct digest *d, struct oci_new *new)
{
	const uint8_t *data;
	uint8_t sum[DIGEST_MAX];
	char hex[OCI_HEX + 1];
	char why[LAYER_WHY] = "";
	struct output out;
	ssize_t got = 0;
	int rc = digest_start(d);

	if (rc == 0)
		rc = oci_new_begin(new, &out);
	if (rc != 0)
		return refuse_blob(p, b, rc, "");
	while (rc == 0 && (got = pull_fetch_next(f, n, &data)) > 0) {
		rc = digest_add(d, data, (size_t)got);
		if (rc == 0)
			rc = fdio_write(out.fd, data, (size_t)got);
	}
	if (rc == 0 && got < 0) {
		rc = (int)got;
		pull_fetch_why(f, n, why);
	}
	if (rc == 0)
		rc = digest_end(d, sum);
	if (rc == 0) {
		hex_write(hex, sum, OCI_HEX / 2);
		if (strcmp(hex, b->hex) != 0)
			rc = layer_refuse(why, -EBADMSG, OCI_NOT_ITS);
	}
	if (rc == 0)
		rc = oci_new_end(new, &out, b);
	else
		output_abort(&out);
	if (rc == 0)
		return 0;
	pull_fetch_stop(f);
	return refuse_blob(p, b, rc, why);
}

/* Lists each blob once: an image may have a layer several times. */
static size_t
list_blobs(const struct pull *p, struct oci_blob *to, uint64_t *total_B)
{
	size_t count = 0;

	*total_B = 0;
	for (size_t i = 0; i < p->count; i++) {
		size_t k = 0;

		while (k < count && strcmp(to[k].hex, p->layers[i].hex) != 0)
			k++;
		if (k < count)
			continue;
		to[count++] = p->layers[i];
		*total_B += p->layers[i].size;
	}
	return count;
}

static int
commit_layout(struct pull *p, struct oci_new *new, const char *tag)
{
	struct strbuf index = { .len = 0 };
	struct oci_blob b;
	int rc = oci_new_text(new, p->config_text, p->config_len, &b);

	if (rc == 0)
		rc = oci_new_text(new, p->manifest_text, p->manifest_len, &b);
	if (rc != 0)
		return rc;
	strbuf_fmt(&index, "{\"schemaVersion\":2,\"mediaType\":"
	    "\"application/vnd.oci.image.index.v1+json\",\"manifests\":["
	    "{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%" PRIu64,
	    p->manifest_type, b.hex, b.size);
	if (tag != NULL)
		strbuf_fmt(&index, ",\"annotations\":{"
		    "\"org.opencontainers.image.ref.name\":\"%s\"}", tag);
	strbuf_str(&index, "}]}");
	rc = index.failed ? -ENOMEM :
	    oci_new_commit(new, index.data, index.len);
	strbuf_free(&index);
	return rc;
}

int
pull_layout(struct pull *p, struct oci_new *new, const char *path,
    const char *tag)
{
	struct oci_blob *blobs = sys_calloc(p->count + 1, sizeof(*blobs));
	char base[VFS_BASE + 32];
	struct pull_fetch *f = NULL;
	struct digest *d = NULL;
	uint64_t total_B;
	size_t count = 0;
	bool told = false;
	int rc = blobs == NULL ? -ENOMEM : digest_new_sha256(&d);

	if (rc == 0) {
		count = list_blobs(p, blobs, &total_B);
		rc = fetch_all(p, blobs, count, total_B, base, &f);
	}
	for (size_t n = 0; rc == 0 && n < count; n++) {
		rc = store_blob(p, f, n, &blobs[n], d, new);
		told = rc != 0;
	}
	progress_end(p->o.progress);
	if (rc == 0)
		rc = commit_layout(p, new, tag);
	if (rc != 0 && !told)
		(void)vfs_refuse(&p->o.report, path, rc, "");
	pull_fetch_close(f);
	digest_free(d);
	sys_free(blobs);
	return rc;
}
