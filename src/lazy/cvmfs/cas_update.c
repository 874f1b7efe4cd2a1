/*
 * cas_update.c - the revision of a CVMFS repository before a new one
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that has the catalogs of one revision goes on fetching its objects
 * until it looks for a newer one (CAS_TTL), and takes that only if its number
 * is larger, and its time not earlier (cvmfs/catalog_mgr_client.cc,
 * manifest_fetch.cc).  So a new revision continues both, and has the objects of
 * the one before as well, which are links where the filesystem allows it.
 */
#include "cas_impl.h"
#include "cas_manifest.h"
#include "cas_read.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads a whole file below the old directory. */
static int
read_old(struct cas *c, const char *path, size_t most, char **text, size_t *len,
    char why[LAYER_WHY])
{
	int fd = sys_openat(c->before.dir, path, O_RDONLY | O_CLOEXEC, 0), rc;

	rc = fd < 0 ? fd : fdio_read_all(fd, most, text, len);
	if (fd >= 0)
		sys_close(fd);
	return rc == 0 ? 0 : layer_refuse(why, rc, "%.120s: %s: %s",
	    c->o->update, path, strerror(-rc));
}

/* Verifies the manifest's signature, by our own key unless there is a master. */
static int
verify_old(struct cas *c, const struct cas_manifest *m, const char *text,
    char why[LAYER_WHY])
{
	const uint8_t *key = c->o->master_key != NULL ? NULL :
	    cas_signer_key(c->signer);
	struct cas_unpacker *u = NULL;
	char path[CAS_PATH], *stored = NULL, *content = NULL;
	char reason[LAYER_WHY] = "";
	size_t len, used;
	ssize_t n = 0;
	int rc;

	cas_object_path(path, m->certificate, CAS_CERTIFICATE_OBJECT);
	rc = read_old(c, path, CAS_CERTIFICATE_MAX, &stored, &len, why);
	if (rc != 0)
		return rc;
	content = sys_malloc(CAS_CERTIFICATE_MAX);
	rc = content == NULL ? -ENOMEM : cas_unpacker_open(&u, c->sha1);
	if (rc != 0)
		goto out;
	n = cas_unpack(u, m->certificate, stored, len, content,
	    CAS_CERTIFICATE_MAX, &used);
	if (n < 0)
		rc = layer_refuse(reason, -EBADMSG, "the certificate does not "
		    "match its hash");
	else
		rc = cas_manifest_verify(m, text, content, (size_t)n, key,
		    reason);
	if (rc != 0 && *reason != '\0')
		layer_refuse(why, rc, "%.80s: %.120s", c->o->update, reason);
out:
	cas_unpacker_close(u);
	sys_free(content);
	sys_free(stored);
	return rc;
}

int
cas_before_open(struct cas *c, char why[LAYER_WHY])
{
	const struct cas_options *o = c->o;
	char *text = NULL, reason[LAYER_WHY] = "";
	struct cas_manifest m;
	size_t len;
	int rc;

	rc = c->before.dir = sys_openat(AT_FDCWD, o->update, O_RDONLY |
	    O_DIRECTORY | O_CLOEXEC, 0);
	if (rc < 0)
		return layer_refuse(why, rc, "%.120s: %s", o->update,
		    strerror(-rc));
	rc = read_old(c, CAS_MANIFEST, CAS_MANIFEST_MAX, &text, &len, why);
	if (rc != 0)
		return rc;
	rc = cas_manifest_parse(&m, text, len, reason);
	if (rc != 0)
		layer_refuse(why, rc, "%.80s: %.120s", o->update, reason);
	if (rc == 0 && (m.name_len != strlen(o->name) ||
	    memcmp(m.name, o->name, m.name_len) != 0))
		rc = layer_refuse(why, -EINVAL, "%.80s is the repository "
		    "%.*s, not %.80s", o->update, (int)(m.name_len < 80 ?
		    m.name_len : 80), m.name == NULL ? "" : m.name, o->name);
	if (rc == 0)
		rc = verify_old(c, &m, text, why);
	if (rc == 0 && o->revision != 0 && o->revision <= m.revision)
		rc = layer_refuse(why, -EINVAL, "revision %" PRIu64 " is not "
		    "later than %" PRIu64 ", that of %.80s: clients would "
		    "ignore it", o->revision, m.revision, o->update);
	c->before.revision = m.revision;
	c->before.time = m.time;
	sys_free(text);
	return rc;
}

/* Copies an object to the new repository. */
static int
copy_object(struct cas *c, const char *path)
{
	enum { PIECE = 1 << 16 };
	char *buf = sys_malloc(PIECE);
	int from = -1, to = -1, end, rc = -ENOMEM;
	ssize_t n;

	if (buf == NULL)
		return rc;
	rc = from = sys_openat(c->before.dir, path, O_RDONLY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	if (from < 0)
		goto out;
	rc = to = sys_openat(c->tree.dir, path, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0644);
	if (to < 0)
		goto out;
	while ((n = fdio_read(from, buf, PIECE)) > 0 &&
	    (rc = fdio_write(to, buf, (size_t)n)) == 0)
		;
	rc = n < 0 ? (int)n : rc < 0 ? rc : 0;
out:
	if (from >= 0)
		sys_close(from);
	if (to >= 0) {
		end = sys_close(to);
		rc = rc == 0 ? end : rc;
	}
	sys_free(buf);
	return rc;
}

/* Whether a name in data/XX is that of an object. */
static bool
is_object(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n == 2 * CAS_HASH - 2 && (name[n] == '\0' ||
	    (name[n] >= 'A' && name[n] <= 'Z' && name[n + 1] == '\0'));
}

static int
keep_directory(struct cas *c, unsigned number)
{
	char path[64];
	const struct dirent *e;
	int fd, rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "data/%02x", number);
	fd = sys_openat(c->before.dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	dir = fdopendir(fd);
	if (dir == NULL) {
		rc = -errno;
		sys_close(fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, e = readdir(dir)) != NULL) {
		if (!is_object(e->d_name))
			continue;
		snprintf(path, sizeof(path), "data/%02x/%.39s", number,
		    e->d_name);
		rc = sys_linkat(c->before.dir, path, c->tree.dir, path, 0);
		if (rc == -EXDEV || rc == -EPERM || rc == -EMLINK)
			rc = copy_object(c, path);
		if (rc == 0)
			c->r->kept++;
		else if (rc == -EEXIST)
			rc = 0;
	}
	if (rc == 0 && e == NULL && errno != 0)
		rc = -errno;
	closedir(dir);
	return rc;
}

int
cas_before_keep(struct cas *c)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < 256; i++)
		rc = keep_directory(c, i);
	return rc;
}
