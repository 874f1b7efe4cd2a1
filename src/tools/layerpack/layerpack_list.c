/*
 * layerpack_list.c - listing the entries of a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/listing.h"
#include "base/utc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 24 };			/* total width of owner, blanks and
					 * size */

/* Formats the mode, with h for a hard link, as in tar(1). */
static void
mode_text(char text[LISTING_MODE_B], const struct layer_entry *e)
{
	listing_mode(text, tar_type_mode(e->type) | e->mode);
	if (e->type == TAR_HARDLINK)
		text[0] = 'h';
}

static void
size_text(char text[32], const struct layer_entry *e)
{
	if (e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE)
		snprintf(text, 32, "%" PRIu32 ",%3" PRIu32, e->major,
		    e->minor);
	else
		snprintf(text, 32, "%" PRIu64, e->size);
}

static void
time_text(char text[UTC_B], const struct layer_entry *e)
{
	/* clamped to start at 1970 and to fit in 64-bit nanoseconds */
	int64_t s = e->mtime < 0 ? 0 : e->mtime > INT64_MAX / 1000000000 - 1 ?
	    INT64_MAX / 1000000000 - 1 : e->mtime;

	utc_text(text, s * 1000000000 + e->mtime_ns);
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
print_long(const struct layer_entry *e)
{
	char mode[LISTING_MODE_B], owner[48], size[32], time[UTC_B];
	int pad;

	mode_text(mode, e);
	snprintf(owner, sizeof(owner), "%" PRIu64 "/%" PRIu64, e->uid, e->gid);
	size_text(size, e);
	time_text(time, e);
	time[10] = ' ';
	pad = WIDTH - (int)strlen(owner) - 1;
	printf("%s %s %*s %.16s ", mode, owner, pad < 0 ? 0 : pad, size, time);
}

static void
print_entry(const struct layer_entry *e, bool longer)
{
	const char *path = *e->path == '\0' ? "." : e->path;

	if (longer)
		print_long(e);
	listing_print(stdout, path, strlen(path));
	if (e->type == TAR_DIR)
		putchar('/');
	if (longer && (e->type == TAR_SYMLINK || e->type == TAR_HARDLINK)) {
		fputs(e->type == TAR_SYMLINK ? " -> " : " link to ", stdout);
		listing_print(stdout, e->link, strlen(e->link));
	}
	putchar('\n');
}

static const char *
type_name(enum tar_type type)
{
	static const char *const names[] = {
		[TAR_FILE] = "file", [TAR_HARDLINK] = "hardlink",
		[TAR_SYMLINK] = "symlink", [TAR_CHAR] = "char",
		[TAR_BLOCK_DEVICE] = "block", [TAR_DIR] = "dir",
		[TAR_FIFO] = "fifo"
	};

	return names[type];
}

static int
list_row(struct table *t, const struct layer *l, const struct layer_entry *e)
{
	bool device = e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE;
	char mode[8], time[UTC_B];

	snprintf(mode, sizeof(mode), "%04o", (unsigned)e->mode & 07777);
	time_text(time, e);
	table_text(t, e->path);
	table_text(t, type_name(e->type));
	table_text(t, mode);
	table_int(t, (int64_t)e->uid);
	table_int(t, (int64_t)e->gid);
	table_text(t, time);
	table_known(t, e->type == TAR_FILE ? (int64_t)e->size : -1);
	table_known(t, e->type == TAR_FILE ? (int64_t)stored(l, e) : -1);
	table_known(t, e->type == TAR_FILE ? (int64_t)e->run_count : -1);
	table_text(t, *e->link == '\0' ? NULL : e->link);
	table_known(t, device ? (int64_t)e->major : -1);
	table_known(t, device ? (int64_t)e->minor : -1);
	table_int(t, (int64_t)e->xattr_count);
	return table_end(t);
}

static int
list_rows(struct layerpack *p, const struct layer *l)
{
	static const char *const columns[] = { "path", "type", "mode", "uid",
		"gid", "mtime", "size_B", "stored_B", "runs", "link", "major",
		"minor", "xattrs" };
	size_t count;
	const struct layer_entry *e = layer_entries(l, &count);
	struct table *t;
	int rc = table_to_fd(&t, STDOUT_FILENO, p->o.format, columns,
	    sizeof(columns) / sizeof(columns[0]));

	if (rc == 0) {
		for (size_t i = 0; rc == 0 && i < count; i++)
			rc = list_row(t, l, &e[i]);
		table_close(t);
	}
	if (rc != 0)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
	return rc;
}

static void
list_text(struct layerpack *p, const struct layer *l)
{
	size_t count, units;
	const struct layer_entry *e = layer_entries(l, &count);

	for (size_t i = 0; i < count; i++)
		print_entry(&e[i], p->msg.verbose > 0);
	layer_units(l, &units);
	if (p->msg.verbose > 1)
		msg_note(&p->msg, "%s: %s, %zu entries, %zu units, %" PRIu64
		    " bytes read for the index", p->o.source,
		    layer_kind_name(layer_kind(l)), count, units,
		    layer_index_bytes(l));
}

int
layerpack_list(struct layerpack *p)
{
	struct layerpack_source s;
	int rc = layerpack_open(p, &s);

	if (rc == 0 && p->o.rows)
		rc = list_rows(p, s.l);
	else if (rc == 0)
		list_text(p, s.l);
	layerpack_close(&s);
	return rc;
}
