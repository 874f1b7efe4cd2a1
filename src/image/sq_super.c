/*
 * sq_super.c - the superblock of a squashfs image, and all tables after it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq.h"

#include "bytes.h"
#include "fdio.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
	SUPER_B = 96,
	MAGIC = 0x73717368,
	FLAG_OPTIONS = 0x400,
	LOG_MIN = 12, LOG_MAX = 20,
	COMPRESSOR_LZ4 = 5,
};

void
sq_report(const struct sq_report *r, uint64_t offset, const char *reason)
{
	if (r->fn != NULL)
		r->fn(r->arg, offset, reason);
}

int
sq_read(const struct squashfs *q, void *buf, size_t len, uint64_t offset)
{
	ssize_t n;

	if (offset > q->length || len > q->length - offset)
		return -EBADMSG;
	n = fdio_pread(q->fd, buf, len, (off_t)(q->offset + offset));
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EBADMSG;
}

static void
parse_super(struct squashfs_super *s, const uint8_t *p)
{
	s->inodes = load_le32(p + 4);
	s->mtime = load_le32(p + 8);
	s->block_B = load_le32(p + 12);
	s->fragments = load_le32(p + 16);
	s->compressor = load_le16(p + 20);
	s->block_log = load_le16(p + 22);
	s->flags = load_le16(p + 24);
	s->ids = load_le16(p + 26);
	s->root = load_le64(p + 32);
	s->used_B = load_le64(p + 40);
	s->id_start = load_le64(p + 48);
	s->xattr_start = load_le64(p + 56);
	s->inode_start = load_le64(p + 64);
	s->dir_start = load_le64(p + 72);
	s->fragment_start = load_le64(p + 80);
	s->export_start = load_le64(p + 88);
}

static int
bad(const char **why, const char *sentence)
{
	*why = sentence;
	return -EBADMSG;
}

static int
check_super(struct squashfs *q, const uint8_t *p, const char **why)
{
	const struct squashfs_super *s = &q->super;

	if (load_le32(p) != MAGIC)
		return bad(why, "it has no squashfs superblock");
	if (load_le16(p + 28) != 4 || load_le16(p + 30) != 0) {
		*why = "its version of squashfs is not 4.0";
		return -ENOTSUP;
	}
	if (s->block_log < LOG_MIN || s->block_log > LOG_MAX ||
	    s->block_B != UINT32_C(1) << s->block_log)
		return bad(why, "its block size is none of squashfs");
	if (s->used_B < SUPER_B)
		return bad(why, "its length is less than its superblock's");
	if (s->inode_start < SUPER_B || s->dir_start <= s->inode_start ||
	    s->dir_start >= s->used_B)
		return bad(why, "its tables are out of order");
	if (s->dir_start >= q->length)
		return bad(why, "it is cut off before its tables end");
	q->codec = sq_codec_find(s->compressor, why);
	return q->codec == NULL ? -ENOTSUP : 0;
}

/* One block after the superblock; only lz4's says how to unpack. */
static int
check_options(struct squashfs *q, const char **why)
{
	uint8_t p[6];
	int rc;

	if ((q->super.flags & FLAG_OPTIONS) == 0 ||
	    q->super.compressor != COMPRESSOR_LZ4)
		return 0;
	rc = sq_read(q, p, sizeof(p), SUPER_B);
	if (rc != 0 || (load_le16(p) & 0x7fff) < 4)
		return bad(why, "the options of its compressor are damaged");
	if (load_le32(p + 2) != SQ_LZ4_VERSION) {
		*why = "its version of lz4 blocks is not known";
		return -ENOTSUP;
	}
	return 0;
}

static int
open_image(struct squashfs *q, const char **why)
{
	off_t end = lseek(q->fd, 0, SEEK_END);
	uint8_t p[SUPER_B];
	int rc;

	if (end == -1)
		return -errno;
	if (q->offset > (uint64_t)end || (uint64_t)end - q->offset < SUPER_B)
		return bad(why, "it is shorter than a superblock");
	q->length = (uint64_t)end - q->offset;
	rc = sq_read(q, p, sizeof(p), 0);
	if (rc != 0)
		return rc;
	parse_super(&q->super, p);
	/* padding, or a signature, may follow what is used */
	if (q->super.used_B < q->length)
		q->length = q->super.used_B;
	rc = check_super(q, p, why);
	return rc != 0 ? rc : check_options(q, why);
}

int
squashfs_open(struct squashfs **out, int fd, uint64_t offset,
    const char **why)
{
	struct squashfs *q = sys_calloc(1, sizeof(*q));
	int rc;

	*why = NULL;
	if (q == NULL)
		return -ENOMEM;
	q->fd = fd;
	q->offset = offset;
	rc = open_image(q, why);
	if (rc != 0) {
		sys_free(q);
		return rc;
	}
	*out = q;
	return 0;
}

static int
read_all(struct squashfs *q, unsigned threads, const struct sq_report *r)
{
	struct sq_meta *const all[] = { &q->inodes, &q->dirs, &q->fragments,
	    &q->ids, &q->exports, &q->xattr_sets, &q->xattrs };
	const struct squashfs_super *s = &q->super;
	int rc;

	if (s->used_B > q->length)
		sq_report(r, q->length, "the image is cut off");
	rc = sq_meta_chain(q, &q->inodes, s->inode_start, s->dir_start, r);
	if (rc == 0)
		rc = sq_meta_chain(q, &q->dirs, s->dir_start,
		    sq_tables_start(q, s->dir_start), r);
	if (rc == 0)
		rc = sq_tables_read(q, r);
	if (rc == 0)
		rc = sq_meta_unpack(q, all, sizeof(all) / sizeof(all[0]),
		    threads, r);
	return rc;
}

int
squashfs_load(struct squashfs *q, unsigned threads,
    squashfs_damage_fn *damage, void *arg, const char **why)
{
	const struct sq_report r = { damage, arg };
	struct squashfs_inode root;
	int rc = read_all(q, threads, &r);

	*why = NULL;
	if (rc == -EFBIG)
		*why = "its tables are larger than 512 MiB";
	if (rc != 0)
		return rc;
	rc = squashfs_inode(q, q->super.root, &root);
	if (rc != 0 || root.type != SQUASHFS_DIR)
		return bad(why, "its root directory cannot be read");
	return 0;
}

void
squashfs_close(struct squashfs *q)
{
	if (q == NULL)
		return;
	sq_meta_free(&q->inodes);
	sq_meta_free(&q->dirs);
	sq_meta_free(&q->fragments);
	sq_meta_free(&q->ids);
	sq_meta_free(&q->exports);
	sq_meta_free(&q->xattr_sets);
	sq_meta_free(&q->xattrs);
	sys_free(q);
}

const struct squashfs_super *
squashfs_super(const struct squashfs *q)
{
	return &q->super;
}

const char *
squashfs_compressor(const struct squashfs *q)
{
	return q->codec->name;
}

uint64_t
squashfs_length(const struct squashfs *q)
{
	return q->length;
}
