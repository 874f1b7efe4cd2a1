/*
 * pzseek.c - extract ranges of bytes from a compressed file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The part that depends on the format is in src/format/; see seek.h.
 */
#include "pzseek.h"

#include "base/fdio.h"
#include "base/sandbox.h"
#include "base/sys.h"
#include "base/table.h"
#include "format/skippable.h"
#include "format/zstd_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_MAX_LOG = 27, SPACING = 4 << 20 };

static const char *
sentence(int rc)
{
	switch (rc) {
	case -EFBIG:
		return "needs more memory than allowed, or an index with more "
		    "points (--spacing)";
	case -ESTALE:
		return "the file changed while it was being read";
	default:
		return convert_reason(rc);
	}
}

static int
pzseek_failed(struct pzseek *p, const char *what, const char *why)
{
	msg_error(&p->msg, "%s: %s", what, why);
	return -1;
}

/* Opens the file, which must be seekable, and its index, if there is one. */
static int
open_files(struct pzseek *p)
{
	const char *given = p->index != NULL ? p->index : p->path;
	size_t len = strlen(given);
	uint8_t head[CODEC_MAGIC_MAX];
	ssize_t n;

	p->fd = sys_openat(AT_FDCWD, p->path, O_RDONLY | O_CLOEXEC |
	    O_NONBLOCK | O_NOCTTY, 0);
	if (p->fd < 0)
		return pzseek_failed(p, p->path, strerror(-p->fd));
	if (fstat(p->fd, &p->st) == -1)
		return pzseek_failed(p, p->path, strerror(errno));
	if (!S_ISREG(p->st.st_mode))
		return pzseek_failed(p, p->path, "not a regular file");
	n = fdio_pread(p->fd, head, sizeof(head),
	    (off_t)skippable_end(p->fd, 0));
	if (n == 0)	/* only skippable frames, or empty */
		n = fdio_pread(p->fd, head, sizeof(head), 0);
	if (n < 0)
		return pzseek_failed(p, p->path, strerror((int)-n));
	p->convert.codec = codec_by_magic(head, (size_t)n);
	if (p->convert.codec == NULL)
		return pzseek_failed(p, p->path, n == 0 ?
		    "unexpected end of file" : "not in a known format");

	/* the index's name: the one given, or the file's with .pzi appended */
	p->index_name = sys_malloc(len + sizeof(".pzi"));
	if (p->index_name == NULL)
		return pzseek_failed(p, p->path, strerror(ENOMEM));
	strcpy(p->index_name, given);
	if (p->index == NULL)
		strcpy(p->index_name + len, ".pzi");
	if (p->no_index || p->from_start || p->make_index)
		return 0;
	p->index_fd = sys_openat(AT_FDCWD, p->index_name, O_RDONLY |
	    O_CLOEXEC | O_NONBLOCK, 0);
	if (p->index_fd < 0 && (p->index != NULL ||
	    p->index_fd != -ENOENT))
		return pzseek_failed(p, p->index_name, strerror(-p->index_fd));
	return 0;
}

/*
 * Opens the map from the index, if there is one.  An invalid index is skipped
 * unless it was requested.  Otherwise the units are searched, up to the end of
 * the ranges; a listing needs all of them.
 */
static int
open_map(struct pzseek *p, struct seek_map *m)
{
	uint64_t len = (uint64_t)p->st.st_size;
	struct seek_need need = SEEK_NEED_NONE;
	const char *why;
	int rc;

	p->index_state = "none";
	if (p->index_fd >= 0) {
		rc = seek_map_index(m, p->convert.codec, p->fd, len,
		    p->index_fd);
		p->index_state = "used";
		if (rc == 0)
			return 0;
		why = rc == -ESTALE ? "the index is for another file, or for "
		    "another version of this one" : rc == -EBADMSG ?
		    "not an index, or damaged" : strerror(-rc);
		p->index_state = rc == -ESTALE ? "stale" : "damaged";
		if (p->index != NULL)
			return pzseek_failed(p, p->index_name, why);
		if (!p->msg.quiet)
			msg_note(&p->msg, "%s: %s; not used", p->index_name,
			    why);
	}
	if (p->from_start) {
		*m = (struct seek_map){ .fd = p->fd, .len = len,
		    .codec = p->convert.codec };
		return 0;
	}
	for (int i = 0; i < p->range_count; i++) {
		struct seek_range r;

		if (seek_parse(p->ranges[i], &r) == 0)
			seek_need_range(&need, &r);
	}
	if (need.to == 0)	/* without data, no map could be opened */
		need.to = 1;
	if (p->list)
		need = SEEK_NEED_ALL;
	rc = seek_map_open(m, p->convert.codec, p->fd, len, &need);
	return rc == 0 ? 0 : pzseek_failed(p, p->path, sentence(rc));
}

static int
list_units(struct pzseek *p, const struct seek_map *m)
{
	static const char *const columns[] = {
		"name", "format", "compressed_B", "uncompressed_B", "units",
		"longest_B", "found_by", "checked", "index"
	};
	uint64_t longest = 0;
	struct table *t;
	int rc = table_to_fd(&t, STDOUT_FILENO, p->json ? TABLE_JSON :
	    TABLE_CSV, columns, sizeof(columns) / sizeof(columns[0]));

	if (rc != 0)
		return pzseek_failed(p, p->path, strerror(-rc));
	for (size_t i = 1; i < m->count; i++)
		if (m->units[i].plain - m->units[i - 1].plain > longest)
			longest = m->units[i].plain - m->units[i - 1].plain;
	table_text(t, p->path);
	table_text(t, p->convert.codec->name);
	table_int(t, (int64_t)m->len);
	if (m->count > 0) {
		table_int(t, (int64_t)m->units[m->count - 1].plain);
		table_int(t, (int64_t)m->count - 1);
		table_int(t, (int64_t)longest);
	} else {
		table_none(t);
		table_int(t, 0);
		table_none(t);
	}
	table_text(t, m->count > 0 ? m->how : "decompressing from the start");
	table_bool(t, m->count > 0 && m->checked);
	table_text(t, p->index_state);
	rc = table_end(t);
	table_close(t);
	return rc == 0 ? 0 : pzseek_failed(p, "standard output", strerror(-rc));
}

static int
read_ranges(struct pzseek *p, const struct seek_map *m)
{
	for (int i = 0; i < p->range_count; i++) {
		const char *range = p->ranges[i];
		struct seek_range r;
		struct seek_result result = { .why = NULL };
		int rc = seek_parse(range, &r);

		if (rc == 0)
			rc = seek_read(m, &p->convert, &r, p->verify,
			    p->out_fd, &result);
		if (rc != 0)
			return pzseek_failed(p,
			    !result.output_failed ? p->path :
			    p->output != NULL ? p->output : "standard output",
			    result.why != NULL ? result.why : sentence(rc));
		/* part of it may not exist; "100:" requests what there is */
		if (!p->msg.quiet && r.len > 0 && result.wrote_B == 0)
			msg_note(&p->msg, "%s %s: begins past the end of the "
			    "data", p->path, range);
		else if (!p->msg.quiet && r.len != UINT64_MAX &&
		    result.wrote_B < r.len)
			msg_note(&p->msg, "%s %s: the data ends after %" PRIu64
			    " bytes of the range", p->path, range,
			    result.wrote_B);
		if (p->msg.verbose > 0)
			msg_note(&p->msg, "%s %s: read %" PRIu64 " bytes, "
			    "decompressed %" PRIu64 ", wrote %" PRIu64 "%s%s",
			    p->path, range, result.read_B, result.made_B,
			    result.wrote_B, result.from_start ?
			    "; from the start" : "", result.wrote_B > 0 &&
			    result.unverified ? "; not verified" : "");
	}
	return 0;
}

/* Opens an output other than the file itself. */
static int
create(struct pzseek *p, const char *path)
{
	int rc = output_create(&p->out, path, p->force);

	if (rc != 0)
		return pzseek_failed(p, path, strerror(-rc));
	p->out_fd = p->out.fd;
	if (!output_is(&p->out, &p->st))
		return 0;
	output_abort(&p->out);
	return pzseek_failed(p, path, "is the input; not overwritten");
}

/* Gives the output its name, or discards it. */
static void
end_output(struct pzseek *p, bool complete)
{
	mode_t mask;
	int rc;

	if (!complete) {
		output_abort(&p->out);
		return;
	}
	if (!p->out.direct) {
		mask = umask(0);
		umask(mask);
		fchmod(p->out.fd, 0666 & ~mask);
	}
	rc = output_commit(&p->out, false);
	if (rc != 0)
		pzseek_failed(p, p->output, strerror(-rc));
}

/*
 * Confines the process: all files are open, and only the output has yet to be
 * linked to its name.
 */
static void
confine_pzseek(struct pzseek *p)
{
	bool confined;
	int rc = p->out.name != NULL && !p->out.direct ?
	    sandbox_enter_naming(p->out.dirfd, &confined) :
	    sandbox_enter(&confined);

	if ((rc != 0 || !confined) && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: not confined: %s", p->path, rc != 0 ?
		    strerror(-rc) : "the kernel has no Landlock");
}

/*
 * Reads the ranges, or lists.  Reports how ranges will be located: with -v, or
 * if the file was written to be read in ranges but cannot be.
 */
static void
seek(struct pzseek *p)
{
	bool gzip = strcmp(p->convert.codec->name, "gzip") == 0;
	struct seek_map m = { .count = 0 };
	int rc;

	p->out_fd = STDOUT_FILENO;
	if (p->output != NULL && !p->list && create(p, p->output) != 0)
		return;
	confine_pzseek(p);
	rc = open_map(p, &m);
	if (rc == 0) {
		if (m.why != NULL && !p->msg.quiet && !p->list)
			msg_note(&p->msg, "%s: reading all data before the "
			    "range: %s; --make-index creates an index that "
			    "avoids this", p->path, m.why);
		else if (p->msg.verbose > 0)
			msg_note(&p->msg, "%s: %s", p->path, m.count > 0 ?
			    m.how : p->from_start ?
			    "decompressing from the start" : gzip ?
			    "no seek points; decompressing from the start "
			    "(--make-index creates an index)" :
			    "no seek points; decompressing from the start");
		rc = p->list ? list_units(p, &m) : read_ranges(p, &m);
	}
	seek_map_close(&m);
	if (p->msg.verbose > 0 && rc == 0)
		msg_note(&p->msg, "%s: read %" PRIu64 " bytes to locate the "
		    "units", p->path, m.read_B);
	if (p->output != NULL && !p->list)
		end_output(p, rc == 0);
}

/* Makes the index, with no more permissions than the file. */
static void
make_index(struct pzseek *p)
{
	int rc;

	if (strcmp(p->convert.codec->name, "gzip") != 0) {
		pzseek_failed(p, p->path,
		    "only gzip files can have a side index");
		return;
	}
	if (create(p, p->index_name) != 0)
		return;
	confine_pzseek(p);
	if (!p->out.direct)
		fchmod(p->out.fd, p->st.st_mode & 0666);
	rc = seek_index_make(&p->convert, p->fd, (uint64_t)p->st.st_size,
	    p->spacing, p->out.fd);
	if (rc != 0) {
		output_abort(&p->out);
		pzseek_failed(p, rc == -ENOSPC || rc == -EDQUOT ?
		    p->index_name : p->path, sentence(rc));
		return;
	}
	rc = output_commit(&p->out, false);
	if (rc != 0)
		pzseek_failed(p, p->index_name, strerror(-rc));
}

/* Adds a part's frames to the table. */
static int
add_part(struct pzseek *p, const char *path, struct buf *table)
{
	struct stat st;
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
	    O_NOCTTY, 0), rc = fd;

	if (fd < 0)
		return pzseek_failed(p, path, strerror(-fd));
	if (fstat(fd, &st) == -1)
		rc = pzseek_failed(p, path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = pzseek_failed(p, path, "not a regular file");
	else if (p->output != NULL && output_is(&p->out, &st))
		rc = pzseek_failed(p, path, "is the output, too");
	else
		rc = zstd_table_add_file(table, fd, (uint64_t)st.st_size);
	sys_close(fd);
	if (rc == -ENOTSUP)
		return pzseek_failed(p, path, "a frame does not record its "
		    "size, as those of pzc --slice do");
	if (rc == -EBADMSG)
		return pzseek_failed(p, path, "expected zstd frames");
	return rc < -1 ? pzseek_failed(p, path, sentence(rc)) : rc;
}

/* Writes the seek table for the operands, which are to be joined. */
static void
make_table(struct pzseek *p)
{
	struct buf table = { .len = 0 };
	int rc = 0;

	p->out_fd = STDOUT_FILENO;
	if (p->output != NULL) {
		rc = output_create(&p->out, p->output, p->force);
		if (rc != 0) {
			pzseek_failed(p, p->output, strerror(-rc));
			return;
		}
		p->out_fd = p->out.fd;
	}
	for (int i = 0; rc == 0 && i < p->range_count; i++)
		rc = add_part(p, p->ranges[i], &table);
	if (rc == 0) {
		rc = zstd_table_end(&table);
		if (rc == 0)
			rc = fdio_write(p->out_fd, table.data, table.len);
		if (rc != 0)
			pzseek_failed(p, p->output != NULL ? p->output :
			    "standard output", strerror(-rc));
	}
	if (p->output != NULL)
		end_output(p, rc == 0);
	sys_free(table.data);
}

int
main(int argc, char **argv)
{
	struct pzseek p = { .spacing = SPACING, .fd = -1, .index_fd = -1,
	    .convert = { .decompress = true, .options = {
	    .window_max = (uint64_t)1 << WINDOW_MAX_LOG } } };
	int status;

	fdio_hold_standard();
	output_on_signals();
	msg_init(&p.msg, argv[0]);
	status = pzseek_parse(&p, argc, argv);
	if (status >= 0)
		return status;
	if (p.seek_table) {
		make_table(&p);
	} else if (open_files(&p) == 0) {
		if (p.make_index)
			make_index(&p);
		else
			seek(&p);
	}
	if (p.index_fd >= 0)
		sys_close(p.index_fd);
	if (p.fd >= 0)
		sys_close(p.fd);
	sys_free(p.index_name);
	return msg_finish(&p.msg);
}
