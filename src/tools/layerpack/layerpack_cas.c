/*
 * layerpack_cas.c - making a repository in CVMFS's format
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_cas.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MAX = 1 << 16 };		/* maximum size of a key, in bytes */

int
layerpack_cas_add(struct layerpack_cas *m, int in, const char *name)
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

static int
add_archive(struct layerpack_cas *m, const char *path)
{
	bool from_stdin = strcmp(path, "-") == 0;
	int in = from_stdin ? STDIN_FILENO : sys_openat(AT_FDCWD, path,
	    O_RDONLY | O_CLOEXEC, 0);
	int rc;

	if (in < 0) {
		msg_error(&m->p->msg, "%s: %s", path, strerror(-in));
		return in;
	}
	rc = layerpack_cas_add(m, in, from_stdin ? "standard input" : path);
	if (!from_stdin)
		sys_close(in);
	return rc;
}

static int
add_archives(struct layerpack_cas *m)
{
	int rc = 0;

#ifdef COLDPRESS_OCI
	if (m->p->o.mode == LAYERPACK_IMAGE)
		return layerpack_cas_image(m, m->p->o.source);
#endif
	for (int i = 0; rc == 0 && i < m->p->o.operand_count; i++)
		rc = add_archive(m, m->p->o.operands[i]);
	return rc;
}

static void
print_hash(const char *what, const uint8_t hash[CAS_HASH])
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, CAS_HASH);
	printf("%s %s\n", what, hex);
}

static void
print_result(const struct cas_result *r)
{
	char key[HEX_SHA256];

	print_hash("root_catalog", r->catalog);
	print_hash("certificate", r->certificate);
	hex_write_sha256(key, r->key);
	printf("key %s\nentries %" PRIu64 "\nfiles_B %" PRIu64
	    "\nchunks %" PRIu64 "\ncatalogs %" PRIu64 "\nobjects %" PRIu64
	    "\nobjects_B %" PRIu64 "\n", key, r->entries, r->files_B,
	    r->chunks, r->catalogs, r->objects, r->objects_B);
}

static int
make_repository(struct layerpack_cas *m)
{
	struct cas_result r;
	char why[LAYER_WHY];
	int rc = cas_open(&m->c, &m->o, m->path, why);

	if (rc != 0) {
		msg_error(&m->p->msg, "%s: %s", m->path, why);
		return rc;
	}
	rc = add_archives(m);
	if (rc == 0) {
		rc = cas_finish(m->c, &r, why);
		if (rc != 0)
			msg_error(&m->p->msg, "%s: %s", m->path, why);
	}
	if (rc == 0)
		print_result(&r);
	cas_close(m->c);
	return rc;
}

/* Returns the last component of the repository's path, to be freed. */
static char *
own_name(const char *path)
{
	size_t len = strlen(path), at;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (at = len; at > 0 && path[at - 1] != '/';)
		at--;
	return strcopy_part(path + at, len - at);
}

static int
read_key(struct layerpack_cas *m, char **key)
{
	const char *name = m->p->o.key;
	size_t len;
	int fd, rc;

	*key = NULL;
	if (name == NULL)
		return 0;
	fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : fdio_read_all(fd, KEY_MAX, key, &len);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0)
		msg_error(&m->p->msg, "%s: %s", name, strerror(-rc));
	return rc;
}

int
layerpack_cas(struct layerpack *p)
{
	const struct layerpack_make_options *o = &p->o.make;
	struct layerpack_cas m = { .p = p,
		.path = p->o.mode == LAYERPACK_IMAGE ? p->o.image : o->output };
	char *key, *name = own_name(m.path);
	int rc = name == NULL ? -ENOMEM : read_key(&m, &key);

	if (name == NULL)
		msg_error(&p->msg, "%s: %s", m.path, strerror(ENOMEM));
	if (rc == 0) {
		m.o = (struct cas_options){ .threads = p->o.threads,
			.level = o->level < 0 ? CAS_LEVEL : (int)o->level,
			.chunk = o->chunk == 0 ? CAS_CHUNK : o->chunk,
			.catalog = o->catalog == 0 ? CAS_CATALOG : o->catalog,
			.name = o->name == NULL ? name : o->name,
			.key = key,
			.refuse_empty = p->o.mode == LAYERPACK_MAKE,
			.progress = &m.progress };
		rc = make_repository(&m);
		sys_free(key);
	}
	sys_free(name);
	return rc;
}
