/*
 * layerpack_read.c - listing, extracting and verifying a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/listing.h"
#include "base/sys.h"
#include "base/utc.h"
#include "lazy/blobs_file.h"
#include "lazy/cvmfs/cas.h"
#include "lazy/extract.h"
#include "lazy/verify/verify.h"
#include "walk/node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 24 };			/* total width of owner, blanks and
					 * size */

static void
time_text(char text[UTC_B], const struct layer_entry *e)
{
	/* clamped to start at 1970 and to fit in 64-bit nanoseconds */
	int64_t s = e->mtime < 0 ? 0 : e->mtime > INT64_MAX / 1000000000 - 1 ?
	    INT64_MAX / 1000000000 - 1 : e->mtime;

	utc_text(text, s * 1000000000 + e->mtime_ns);
}

/* Lists as tar(1) does. */
static void
list_text(struct layerpack *p, const struct layer *l)
{
	char mode[LISTING_MODE_B], owner[48], size[32], time[UTC_B];
	bool is_long = p->msg.verbose > 0;
	size_t count, units;
	int pad;
	const struct layer_entry *entries = layer_entries(l, &count);

	for (size_t i = 0; i < count; i++) {
		const struct layer_entry *e = &entries[i];
		const char *path = *e->path == '\0' ? "." : e->path;

		if (is_long) {
			listing_mode(mode, tar_type_mode(e->type) | e->mode);
			if (e->type == TAR_HARDLINK)
				mode[0] = 'h';
			snprintf(owner, sizeof(owner), "%" PRIu64 "/%" PRIu64,
			    e->uid, e->gid);
			snprintf(size, sizeof(size), "%" PRIu64, e->size);
			if (e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE)
				snprintf(size, sizeof(size), "%" PRIu32 ",%3"
				    PRIu32, e->major, e->minor);
			time_text(time, e);
			time[10] = ' ';
			pad = WIDTH - (int)strlen(owner) - 1;
			printf("%s %s %*s %.16s ", mode, owner,
			    pad < 0 ? 0 : pad, size, time);
		}
		listing_print(stdout, path, strlen(path));
		if (e->type == TAR_DIR)
			putchar('/');
		if (is_long && (e->type == TAR_SYMLINK ||
		    e->type == TAR_HARDLINK)) {
			fputs(e->type == TAR_SYMLINK ? " -> " : " link to ",
			    stdout);
			listing_print(stdout, e->link, strlen(e->link));
		}
		putchar('\n');
	}
	layer_units(l, &units);
	if (p->msg.verbose > 1)
		msg_note(&p->msg, "%s: %s, %zu entries, %zu units, %" PRIu64
		    " bytes read for the index", p->o.source,
		    layer_kind_name(layer_kind(l)), count, units,
		    layer_index_bytes(l));
}

/*
 * Returns the number of bytes that have to be fetched for a file, including
 * other bytes in its units.
 */
static uint64_t
stored(const struct layer *l, const struct layer_entry *e)
{
	size_t count;
	const struct layer_unit *units = layer_units(l, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < e->run_count; i++)
		if (i == 0 || e->runs[i].unit != e->runs[i - 1].unit)
			sum += units[e->runs[i].unit].stored;
	return sum;
}

static void
list_rows(struct layerpack *p, const struct layer *l)
{
	static const char *const columns[] = { "path", "type", "mode", "uid",
		"gid", "mtime", "size_B", "stored_B", "runs", "link", "major",
		"minor", "xattrs" };
	static const char *const types[] = {
		[TAR_FILE] = "file", [TAR_HARDLINK] = "hardlink",
		[TAR_SYMLINK] = "symlink", [TAR_CHAR] = "char",
		[TAR_BLOCK_DEVICE] = "block", [TAR_DIR] = "dir",
		[TAR_FIFO] = "fifo"
	};
	size_t count;
	const struct layer_entry *e = layer_entries(l, &count);
	struct table *t;
	int rc = table_to_fd(&t, STDOUT_FILENO, p->o.format, columns,
	    sizeof(columns) / sizeof(columns[0]));

	if (rc != 0)
		goto out;
	for (size_t i = 0; rc == 0 && i < count; i++, e++) {
		bool device = e->type == TAR_CHAR ||
		    e->type == TAR_BLOCK_DEVICE, file = e->type == TAR_FILE;
		char mode[8], time[UTC_B];

		snprintf(mode, sizeof(mode), "%04o", (unsigned)e->mode & 07777);
		time_text(time, e);
		table_text(t, e->path);
		table_text(t, types[e->type]);
		table_text(t, mode);
		table_int(t, (int64_t)e->uid);
		table_int(t, (int64_t)e->gid);
		table_text(t, time);
		table_known(t, file ? (int64_t)e->size : -1);
		table_known(t, file ? (int64_t)stored(l, e) : -1);
		table_known(t, file ? (int64_t)e->run_count : -1);
		table_text(t, *e->link == '\0' ? NULL : e->link);
		table_known(t, device ? (int64_t)e->major : -1);
		table_known(t, device ? (int64_t)e->minor : -1);
		table_int(t, (int64_t)e->xattr_count);
		rc = table_end(t);
	}
	table_close(t);
out:
	if (rc != 0)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
}

static void
report_entry(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct layerpack *p = arg;
	const char *dir = p->o.directory, *slash = path == NULL ? "" : "/";

	path = path == NULL ? "" : path;
	if (level == EXTRACT_ERROR)
		msg_error(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (level == EXTRACT_WARNING)
		msg_warn(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s%s%s: %s", dir, slash, path, text);
}

static void
extract(struct layerpack *p, const struct layer *l, struct blobs_file *blobs)
{
	struct layer_extract_options o = {
		.to = { .replace = p->o.force, .owner = geteuid() == 0,
		    .threads = p->o.threads },
		.no_xattrs = p->o.no_xattrs, .overlay = p->o.overlay,
		.report = report_entry, .arg = p
	};
	int from = blobs_file_dir(blobs);
	bool confined;

	/* node.h's modes are meant as they are */
	umask(0);
	o.to.root = node_root(p->o.directory, 0755, &o.to.made_root);
	if (o.to.root < 0) {
		msg_error(&p->msg, "%s: %s", p->o.directory,
		    strerror(-o.to.root));
		return;
	}
	sandbox_enter_making(o.to.root, &from, from >= 0, &confined);
	layer_extract(l, blobs_file_blobs(blobs), &o);
	sys_close(o.to.root);
}

static void
report_fault(void *arg, const char *text)
{
	struct layerpack *p = arg;

	msg_error(&p->msg, "%s: %s", p->o.source, text);
}

static void
verify(struct layerpack *p, const struct layer *l, struct blobs_file *blobs,
    const struct verify_options *o)
{
	struct layer_range trace;
	struct verify_result r;
	int rc = verify_layer(l, blobs_file_blobs(blobs), o, &r);

	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(-rc));
	else if (o->spool < 0 && layer_trace(l, &trace))
		msg_error(&p->msg, "%s: %s", layerpack_tmpdir(p),
		    strerror(-o->spool));
	else if (p->msg.status == MSG_OK && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu entries, %zu units and %" PRIu64
		    " bytes of data are valid", p->o.source, r.entries,
		    r.units, r.bytes);
}

void
layerpack_read(struct layerpack *p)
{
	struct verify_options v = { .threads = p->o.threads, .archive = -1,
		.spool = -1, .report = report_fault, .arg = p };
	struct layer_expect e = p->o.expect;
	struct blobs_file *blobs = NULL;
	struct layer *l = NULL;
	char why[LAYER_WHY] = "";
#ifdef COLDPRESS_SQLITE
	uint8_t key[LAYER_DIGEST];
#endif
	int rc;

	/* these cannot be opened once the process is confined */
	if (p->o.mode == LAYERPACK_VERIFY) {
		v.archive = sys_openat(AT_FDCWD, p->o.source, O_RDONLY |
		    O_CLOEXEC | O_NONBLOCK, 0);
		v.spool = sys_openat(AT_FDCWD, layerpack_tmpdir(p), O_TMPFILE |
		    O_RDWR | O_CLOEXEC, 0600);
	}
	e.kind = p->o.kind;
#ifdef COLDPRESS_SQLITE
	/* the key with which a repository must be signed */
	if (p->o.key != NULL) {
		if (cas_key_find(p->o.key, key, why) != 0) {
			msg_error(&p->msg, "%s: %s", p->o.key, why);
			goto out;
		}
		e.key_digest = key;
	}
#endif
	rc = blobs_file_open(&blobs, p->o.source, p->o.side);
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.source, rc == -EINVAL ?
		    "not a regular file or directory" : strerror(-rc));
		goto out;
	}
	/* an extraction is confined later, to its directory */
	if (p->o.mode != LAYERPACK_EXTRACT) {
		struct sandbox_dirs d = { .reading = blobs_file_dir(blobs),
			.naming = -1, .making = -1, .renaming = -1 };

		layerpack_confine(p, &d);
	}
	if (layer_open(&l, blobs_file_blobs(blobs), &e, why) != 0)
		msg_error(&p->msg, "%s: %s", p->o.source, why);
	else if (p->o.mode == LAYERPACK_EXTRACT)
		extract(p, l, blobs);
	else if (p->o.mode == LAYERPACK_VERIFY)
		verify(p, l, blobs, &v);
	else if (p->o.rows)
		list_rows(p, l);
	else
		list_text(p, l);
out:
	layer_close(l);
	blobs_file_close(blobs);
	if (v.archive >= 0)
		sys_close(v.archive);
	if (v.spool >= 0)
		sys_close(v.spool);
}
