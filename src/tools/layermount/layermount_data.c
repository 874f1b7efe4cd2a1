/*
 * layermount_data.c - handling the kernel's read requests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount_tree.h"

#include "base/sys.h"

#include <errno.h>

static void
count_read(struct stack *s, uint32_t inode, ssize_t n)
{
	struct layermount *m = s->m;

	if (n < 0) {
		atomic_fetch_add(&m->failures, 1);
		return;
	}
	atomic_fetch_add(&m->reads, 1);
	atomic_fetch_add(&m->read_bytes, (uint64_t)n);
	if ((atomic_fetch_or(&s->seen[inode], SEEN_READ) & SEEN_READ) == 0)
		atomic_fetch_add(&m->first_files, 1);
}

/*
 * Reads data that is not in a single unit: from the trace, or from several
 * units.
 */
static ssize_t
read_copied(struct stack *s, fuse_req_t req, const struct merge_node *n,
    uint64_t offset, size_t size)
{
	uint8_t *buf = sys_malloc(size + 1);
	ssize_t got = buf == NULL ? -ENOMEM : read_file(s, n, offset, size,
	    buf, HTTP_READ);

	if (got >= 0)
		fuse_reply_buf(req, (const char *)buf, (size_t)got);
	sys_free(buf);
	return got;
}

static ssize_t
read_traced(struct stack *s, fuse_req_t req, const struct merge_node *n,
    uint64_t offset, size_t size)
{
	uint8_t *buf;
	bool there;

	if (offset >= n->entry->size)
		return 0;
	if (size > n->entry->size - offset)
		size = (size_t)(n->entry->size - offset);
	buf = sys_malloc(size + 1);
	there = buf != NULL && trace_read(s, n, offset, size, buf);
	if (there) {
		fuse_reply_buf(req, (const char *)buf, size);
		atomic_fetch_add(&s->m->trace_bytes, size);
	}
	sys_free(buf);
	return there ? (ssize_t)size : 0;
}

static ssize_t
read_and_reply(struct stack *s, fuse_req_t req, uint32_t inode,
    uint64_t offset, size_t size)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	const uint8_t *data;
	struct unit *unit;
	ssize_t got = s->trace == NULL ? 0 : read_traced(s, req, n, offset,
	    size);

	if (got > 0) {
		push_traced(s, inode, offset);
		return got;
	}
	got = read_in_place(s, n, offset, size, &data, &unit);
	if (got < 0)
		return got;
	if (got == 0) {
		got = read_copied(s, req, n, offset, size);
		if (got > 0)
			(void)ahead_note(s, inode, offset, (size_t)got);
		return got;
	}
	fuse_reply_buf(req, (const char *)data, (size_t)got);
	/* sequential reads are large, and will request the rest anyway */
	if (!ahead_note(s, inode, offset, (size_t)got))
		push_unit(s, inode, offset, (size_t)got, unit);
	units_release(s->m->units, unit);
	return got;
}

void
tree_read(fuse_req_t req, struct stack *s, uint32_t inode, size_t size,
    off_t offset)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	struct layermount *m = s->m;
	ssize_t got;

	if (merge_type(n) != TAR_FILE || offset < 0) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	atomic_fetch_add(&m->reading, 1);
	got = read_and_reply(s, req, inode, (uint64_t)offset, size);
	count_read(s, inode, got);
	/* server failures are reported to programs as I/O errors */
	if (got < 0)
		fuse_reply_err(req, got == -ENOMEM ? ENOMEM : EIO);
	atomic_store(&m->last_read_ns, sys_now_ns());
	atomic_fetch_sub(&m->reading, 1);
}
