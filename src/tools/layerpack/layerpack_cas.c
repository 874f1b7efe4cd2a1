/*
 * layerpack_cas.c - making a repository in CVMFS's format
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "base/sys.h"
#ifdef COLDPRESS_OCI
#include "image/oci/oci_layout.h"
#endif
#include "lazy/cvmfs/cas.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_MAX = 1 << 16 };		/* maximum size of a key, in bytes */

/* A repository being created. */
struct repository {
	struct layerpack *p;
	struct cas *c;
	struct progress progress;
};

/*
 * Adds the archive at the current position of `in`.  name is used in messages.
 */
static int
add_archive(struct repository *m, int in, const char *name)
{
	struct stat st;
	bool sized = sys_fstat(in, &st) == 0 && S_ISREG(st.st_mode);
	char why[LAYER_WHY];
	int rc;

	progress_start(&m->progress, STDERR_FILENO, sized ?
	    (uint64_t)st.st_size : 0, m->p->msg.quiet);
	rc = cas_add(m->c, in, why);
	progress_erase(&m->progress);
	if (rc != 0)
		msg_error(&m->p->msg, "%s: %s", name, why);
	else if (*why != '\0')
		msg_warn(&m->p->msg, "%s: %s", name, why);
	return rc;
}

#ifdef COLDPRESS_OCI
static int
refuse_layout(const struct repository *m, const char *what, int rc,
    const char *why)
{
	msg_error(&m->p->msg, "%s: %s: %s", m->p->o.source, what, why);
	return rc;
}

/* Adds the layers of an image in a layout. */
static int
add_image(struct repository *m)
{
	struct oci_document *d = NULL;
	struct oci_blob *layers = NULL;
	const char *tag;
	char at[OCI_HEX + 1], why[OCI_WHY] = "", *path;
	size_t count = 0;
	int rc, fd, dir = -1;

	path = oci_split(m->p->o.source, &tag);
	if (path == NULL)
		return refuse_layout(m, "layout", -ENOMEM, strerror(ENOMEM));
	rc = dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (dir < 0) {
		msg_error(&m->p->msg, "%s: %s", path, strerror(-dir));
		goto out;
	}
	rc = oci_manifest_open(dir, tag, &d, at, why);
	if (rc != 0) {
		refuse_layout(m, at, rc, why);
		goto out;
	}
	rc = oci_layers(d, &layers, &count, why);
	if (rc != 0)
		refuse_layout(m, "manifest", rc, why);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct oci_blob *b = &layers[i];

		rc = fd = oci_blob_open(dir, b);
		if (fd >= 0)
			rc = oci_blob_verify(fd, b);
		if (rc == 0)
			rc = add_archive(m, fd, b->hex);
		else
			refuse_layout(m, b->hex, rc, fd >= 0 &&
			    rc == -EBADMSG ? OCI_NOT_ITS : strerror(-rc));
		if (fd >= 0)
			sys_close(fd);
	}
out:
	sys_free(layers);
	oci_free(d);
	if (dir >= 0)
		sys_close(dir);
	sys_free(path);
	return rc;
}
#endif

static void
print_hash(const char *what, const uint8_t hash[CAS_HASH])
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, CAS_HASH);
	printf("%s %s\n", what, hex);
}

static void
make_repository(struct repository *m, const struct cas_options *o,
    const char *path)
{
	struct layerpack *p = m->p;
	struct cas_result r;
	char why[LAYER_WHY], key[HEX_SHA256];
	int rc = 0;

	if (cas_open(&m->c, o, path, why) != 0) {
		msg_error(&p->msg, "%s: %s", path, why);
		return;
	}
#ifdef COLDPRESS_OCI
	if (p->o.mode == LAYERPACK_IMAGE && add_image(m) != 0)
		goto out;
#endif
	for (int i = 0; p->o.mode == LAYERPACK_MAKE &&
	    i < p->o.operand_count; i++) {
		const char *from = p->o.operands[i];
		bool from_stdin = strcmp(from, "-") == 0;
		int in = from_stdin ? STDIN_FILENO : sys_openat(AT_FDCWD, from,
		    O_RDONLY | O_CLOEXEC, 0);

		if (in < 0) {
			msg_error(&p->msg, "%s: %s", from, strerror(-in));
			goto out;
		}
		rc = add_archive(m, in, from_stdin ? "standard input" : from);
		if (!from_stdin)
			sys_close(in);
		if (rc != 0)
			goto out;
	}
	if (cas_finish(m->c, &r, why) != 0) {
		msg_error(&p->msg, "%s: %s", path, why);
		goto out;
	}
	if (*why != '\0')
		msg_warn(&p->msg, "%s: %s", path, why);
	print_hash("root_catalog", r.catalog);
	print_hash("certificate", r.certificate);
	hex_write_sha256(key, r.key);
	printf("fingerprint ");
	for (int i = 0; i < CAS_HASH; i++)
		printf("%s%02X", i > 0 ? ":" : "", r.fingerprint[i]);
	printf("\nrevision %" PRIu64 "\nkey %s\nentries %" PRIu64 "\nfiles_B %" PRIu64
	    "\nchunks %" PRIu64 "\ncatalogs %" PRIu64 "\nobjects %" PRIu64
	    "\nobjects_B %" PRIu64 "\n", r.revision, key, r.entries,
	    r.files_B, r.chunks, r.catalogs, r.objects, r.objects_B);
	if (o->update != NULL)
		printf("kept %" PRIu64 "\n", r.kept);
out:
	cas_close(m->c);
}

/* Reads a key, unless name is NULL.  Reports errors. */
static int
read_key(struct layerpack *p, const char *name, char **key)
{
	size_t len;
	int fd, rc;

	if (name == NULL)
		return 0;
	fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : fdio_read_all(fd, KEY_MAX, key, &len);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", name, strerror(-rc));
	return rc;
}

void
layerpack_cas(struct layerpack *p)
{
	const struct layerpack_make_options *make = &p->o.make;
	struct repository m = { .p = p };
	struct cas_options o = { .threads = p->o.threads,
		.level = make->level < 0 ? CAS_LEVEL : (int)make->level,
		.chunk = make->chunk == 0 ? CAS_CHUNK : make->chunk,
		.catalog = make->catalog == 0 ? CAS_CATALOG : make->catalog,
		.name = make->name, .update = make->update,
		.revision = make->revision,
		.refuse_empty = p->o.mode == LAYERPACK_MAKE,
		.progress = &m.progress };
	const char *path = p->o.mode == LAYERPACK_IMAGE ? p->o.image :
	    make->output;
	size_t len = strlen(path), at;
	char *name, *key = NULL, *master = NULL;
	int rc;

	/* its name, unless one is given: the last component of its path */
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (at = len; at > 0 && path[at - 1] != '/';)
		at--;
	name = strcopy_part(path + at, len - at);
	if (name == NULL) {
		msg_error(&p->msg, "%s: %s", path, strerror(ENOMEM));
		return;
	}
	if (o.name == NULL)
		o.name = name;
	rc = read_key(p, p->o.key, &key);
	if (rc == 0)
		rc = read_key(p, make->master_key, &master);
	o.key = key;
	o.master_key = master;
	if (rc == 0)
		make_repository(&m, &o, path);
	sys_free(key);
	sys_free(master);
	sys_free(name);
}
