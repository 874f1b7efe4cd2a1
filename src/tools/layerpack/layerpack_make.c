/*
 * layerpack_make.c - creating a layer from an archive
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_make.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "walk/walk_order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 28 };		/* maximum size of a list, in bytes */

static int
make_failed(struct layerpack *p, const char *what, int rc)
{
	msg_error(&p->msg, "%s: %s", what, strerror(-rc));
	return rc;
}

/* Reads the list given with --order. */
static int
open_order(struct layerpack *p, struct walk_order **order)
{
	const char *name = p->o.make.order;
	size_t len, line = 0;
	char *text;
	int fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fdio_read_all(fd, LIST_MAX, &text, &len);

	if (fd >= 0)
		sys_close(fd);
	if (rc == 0)
		rc = walk_order_read(order, text, len, p->o.make.null_ends,
		    &line);
	if (rc == -EINVAL)
		msg_error(&p->msg, "%s: line %zu: expected a path, or a "
		    "number, a path, an offset and a length separated by tabs",
		    name, line);
	else if (rc != 0)
		make_failed(p, name, rc);
	return rc;
}

int
layerpack_check_order(struct layerpack *p, const struct walk_order *order)
{
	const char *missing = order == NULL ? NULL : walk_order_missing(order);

	if (missing == NULL || walk_order_found(order) > 0)
		return 0;
	msg_error(&p->msg, "%s: none of its paths names a file in the archive, "
	    "for example %s", p->o.make.order, missing);
	return -ENOENT;
}

void
layerpack_warn(struct layerpack *p, const char *archive, const char *layer,
    const struct pack_result *r)
{
	if (r->flaw != NULL)
		msg_warn(&p->msg, "%s: %s", archive, r->flaw);
	if (r->lower_links > 0)
		msg_warn(&p->msg, "%s: %s, and so can only be in a lower "
		    "layer; the stargz project's readers refuse such a layer",
		    archive, r->lower_link);
	if (r->lower_links > 1)
		msg_warn(&p->msg, "%s: %" PRIu64 " such hard links", archive,
		    r->lower_links);
	if (r->trace_length > LAYER_TRACE_MAX)
		msg_warn(&p->msg, "%s: the trace of %" PRIu64 " bytes exceeds "
		    "the 256 MiB that readers accept", layer,
		    r->trace_length);
}

int
layerpack_make_prepare(struct layerpack *p, struct pack_options *pack)
{
	const struct layerpack_make_options *o = &p->o.make;

	*pack = (struct pack_options){ .kind = o->kind,
		.threads = p->o.threads, .level = (int)o->level,
		.chunk = o->chunk, .min_chunk = o->min_chunk,
		.trace = !o->no_trace, .no_tar_split = o->no_tar_split,
		.stargz = o->stargz,
		.no_compact = o->no_compact,
		/* a blob is complete if it has its digest */
		.refuse_empty = p->o.mode == LAYERPACK_MAKE,
		.tmpdir = layerpack_tmpdir(p) };
	if (o->windows != NULL && strcmp(o->windows, "packed") == 0)
		pack->windows = PACK_WINDOWS_PACKED;
	return o->order == NULL ? 0 : open_order(p, &pack->order);
}

/* Prints the values needed in an image's manifest. */
static void
print_result(const struct layerpack_make *m)
{
	const struct pack_result *r = &m->result;
	struct pack_annotation a[PACK_ANNOTATIONS_MAX];
	size_t n = pack_annotations(&m->pack, r, a);
	bool ztoc = m->pack.kind == LAYER_ZTOC;
	char digest[HEX_SHA256];

	hex_write_sha256(digest, r->blob_digest);
	printf("digest %s\nsize %" PRIu64 "\n", digest, r->blob_size);
	hex_write_sha256(digest, ztoc ? r->index_digest : r->content_digest);
	printf("%s %s\n", ztoc ? "index_digest" : "diff_id", digest);
	for (size_t i = 0; i < n; i++)
		printf("annotation %s=%s\n", a[i].name, a[i].value);
}

/*
 * Confines the process, after all files have been opened; the output is linked
 * to its name later.
 */
static void
confine_making(struct layerpack_make *m)
{
	struct sandbox_dirs d = { .reading = -1, .making = -1, .renaming = -1,
		.naming = m->out.direct ? -1 : m->out.dirfd,
		.spooling = layerpack_open_tmpdir(m->p) };

	layerpack_confine(m->p, &d);
	if (d.spooling >= 0)
		sys_close(d.spooling);
}

/* Packs the archive at the current position of `in` into the open output. */
static int
pack_archive(struct layerpack_make *m, int in, const char *name)
{
	uint64_t start = sys_now_ns();
	struct stat st;
	bool sized = sys_fstat(in, &st) == 0 && S_ISREG(st.st_mode);
	char why[LAYER_WHY];
	int rc;

	progress_start(&m->progress, STDERR_FILENO, sized ?
	    (uint64_t)st.st_size : 0, m->p->msg.quiet);
	rc = pack_layer(&m->pack, in, m->out.fd, &m->result, why);
	progress_erase(&m->progress);
	m->wall_ns = sys_now_ns() - start;
	if (rc != 0)
		msg_error(&m->p->msg, "%s: %s", name, why);
	else
		rc = layerpack_check_order(m->p, m->pack.order);
	if (rc == 0)
		layerpack_warn(m->p, name, m->o->output, &m->result);
	return rc;
}

static int
make_layer(struct layerpack_make *m, int in, const char *name)
{
	int rc = output_create(&m->out, m->o->output, m->p->o.force);

	if (rc != 0)
		return make_failed(m->p, m->o->output, rc);
	confine_making(m);
	rc = pack_archive(m, in, name);
	if (rc != 0) {
		output_abort(&m->out);
		return rc;
	}
	rc = output_commit(&m->out, false);
	if (rc != 0)
		return make_failed(m->p, m->o->output, rc);
	print_result(m);
	if (m->o->stats != NULL && (rc = layerpack_write_stats(m)) != 0)
		return make_failed(m->p, m->o->stats, rc);
	return 0;
}

/*
 * Returns whether the layer is smaller than --min-layer, which cannot be
 * determined for a pipe.
 */
static bool
is_small(const struct layerpack_make *m, int in, const char *name)
{
	struct stat st;

	if (m->o->min_layer == 0 || sys_fstat(in, &st) != 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size >= m->o->min_layer)
		return false;
	msg_note(&m->p->msg, "%s: no ztoc created: %jd bytes is less than "
	    "--min-layer", name, (intmax_t)st.st_size);
	return true;
}

int
layerpack_make(struct layerpack *p)
{
	struct layerpack_make m = { .p = p, .o = &p->o.make };
	bool from_stdin = strcmp(p->o.source, "-") == 0;
	const char *name = from_stdin ? "standard input" : p->o.source;
	int in = from_stdin ? STDIN_FILENO : sys_openat(AT_FDCWD,
	    p->o.source, O_RDONLY | O_CLOEXEC, 0);
	int rc;

	if (in < 0)
		return make_failed(p, name, in);
	rc = layerpack_make_prepare(p, &m.pack);
	m.pack.progress = &m.progress;
	if (rc == 0 && !is_small(&m, in, name))
		rc = make_layer(&m, in, name);
	walk_order_free(m.pack.order);
	if (!from_stdin)
		sys_close(in);
	return rc;
}
