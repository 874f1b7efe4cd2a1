/*
 * sqpack_build.c - building an image: its source, its file and its messages
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/listing.h"
#include "base/output.h"
#include "base/sys.h"
#include "image/squashfs/write/record.h"
#include "image/verity.h"
#include "image/verity_sign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
output_error(struct sqpack *p, const char *name, int rc)
{
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", name, strerror(-rc));
	return rc;
}

static void
print_report(void *arg, enum imgsrc_message kind, const char *text)
{
	struct sqpack *p = arg;

	if (kind == IMGSRC_ERROR)
		msg_error(&p->msg, "%s", text);
	else if (kind == IMGSRC_WARNING)
		msg_warn(&p->msg, "%s", text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s", text);
}

/* Adds pseudo files, and labels, to a tree. */
static int
complete_tree(void *arg)
{
	struct sqpack *p = arg;
	int rc = p->o.pseudo == NULL ? 0 : imgsrc_pseudo_apply(&p->image,
	    p->o.pseudo);

	return rc != 0 || p->o.from.labels == NULL ? rc :
	    imgsrc_labels_apply(&p->image);
}

/*
 * Builds the image in fd, which is called name in messages.  Unlinked files are
 * created in the directory tmpdir.
 */
static int
build_to(struct sqpack *p, int fd, const char *name, int tmpdir)
{
	struct imgsrc_image *image = &p->image;
	const struct imgsrc_source *source;
	int rc;

	if (p->o.rebuild_check)
		source = &imgsrc_rebuild;
	else if (p->o.from.has_offset)
		source = &imgsrc_repack;
	else if (p->o.from.input_count > 0 || p->o.from.no_source ||
	    ((p->o.as != NULL || p->o.data.exact) &&
	    strcmp(p->o.source, "-") != 0))
		source = &imgsrc_dir;
	else
		source = imgsrc_of(p->o.source);
	image->o = p->o.from;
	image->o.path = p->o.source;
	image->o.no_xattrs = p->o.no_xattrs;
	image->o.show_progress = !p->msg.quiet && p->o.as == NULL;
	image->o.progress = p->o.progress;
	image->o.report = print_report;
	image->o.arg = p;
	if (p->o.pseudo != NULL || p->o.from.labels != NULL) {
		image->o.complete = complete_tree;
		image->o.amends_xattrs = true;
	}
	image->pack = p->o.data;
	image->pack.memory = p->o.memory;
	image->tables = p->o.tables;
	image->tables.inode = p->o.inode;
	image->tables.arg = p;
	rc = imgsrc_build(image, source, fd, tmpdir);
	return image->told ? rc : output_error(p, name, rc);
}

/* Writes the signature of the root hash, given its digits. */
static int
sign_root(struct sqpack *p, const char *root, struct output *signature)
{
	char why[VERITY_SIGN_WHY] = "";
	uint8_t *der = NULL;
	size_t len;
	int rc = verity_sign(root, p->o.verity_key, p->o.verity_cert, &der,
	    &len, why);

	if (rc != 0) {
		msg_error(&p->msg, "%s", *why != '\0' ? why : strerror(-rc));
		return rc;
	}
	rc = fdio_write(signature->fd, der, len);
	sys_free(der);
	return rc != 0 ? output_error(p, p->o.signature, rc) : 0;
}

/*
 * Appends the hash tree of dm-verity to the image in fd, and prints its root
 * hash and where it is.
 */
static int
append_verity(struct sqpack *p, int fd, struct output *signature)
{
	uint8_t root[VERITY_HASH_B];
	char text[2 * VERITY_HASH_B + 1];
	uint64_t data_B = p->image.space.image_B, end;
	int rc = verity_append(fd, data_B, p->o.data.threads, root, &end);

	if (rc != 0)
		return output_error(p, p->o.output, rc);
	p->image.space.image_B = end;
	hex_write(text, root, sizeof(root));
	if (p->o.verity_key != NULL) {
		rc = sign_root(p, text, signature);
		if (rc != 0)
			return rc;
	}
	printf("root hash: %s\nhash offset: %llu\n", text,
	    (unsigned long long)data_B);
	return fflush(stdout) == 0 ? 0 : output_error(p, "standard output",
	    -errno);
}

/* Opens the directory for unlinked files. */
static int
open_tmpdir(struct sqpack *p, const char **name)
{
	const char *tmpdir = getenv("TMPDIR");
	int dir;

	*name = tmpdir == NULL || *tmpdir == '\0' ? "/tmp" : tmpdir;
	dir = sys_openat(AT_FDCWD, *name, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
	return dir < 0 ? output_error(p, *name, dir) : dir;
}

/* Builds the image in fd, where no unlinked files can be. */
static int
build_beside(struct sqpack *p, int fd, const char *name)
{
	const char *tmpdir;
	int dir = open_tmpdir(p, &tmpdir), rc;

	if (dir < 0)
		return dir;
	rc = build_to(p, fd, name, dir);
	sys_close(dir);
	return rc;
}

/* Opens the image that was rebuilt, to compare; the source has made reports. */
static int
open_old(struct sqpack *p, struct sq_file *f)
{
	struct sq_file_options o = { .path = p->o.source,
		.has_offset = p->o.from.has_offset,
		.offset = p->o.from.offset, .threads = p->o.data.threads,
		.memory = p->o.memory };
	const char *why;
	int rc = sq_file_open(f, &o, &why);

	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.source, why);
	return rc;
}

static void
tell_difference(struct sq_file *f, const struct imgsrc_difference *d)
{
	const char *path = d->name == 0 ? NULL : sq_file_path(f, d->name);

	printf("different: byte %llu, ", (unsigned long long)d->at);
	if (d->old_ends || d->made_ends) {
		printf("where %s ends\n", d->old_ends ? "the image" :
		    "the rebuilt one");
	} else if (path != NULL) {
		fputs("in the data of ", stdout);
		listing_print(stdout, path, strlen(path));
		putchar('\n');
	} else {
		puts(d->where);
	}
}

/* Says what can explain that the same data has other bytes. */
static void
explain_difference(const struct sqpack *p, struct sq_file *f, int fd,
    const struct imgsrc_difference *d)
{
	char library[SQPACK_LIBRARY_B];

	if (!imgsrc_is_recompressed(f, fd, d))
		return;
	sqpack_library(p->image.pack.method, library);
	printf("the data is the same there, but compressed otherwise: by "
	    "another version of the library (here %s), or with options that "
	    "the image does not record\n", library);
}

/* Prints all settings, including those for which the image has no field. */
static void
print_settings(const struct sqpack *p)
{
	const struct sqw_data_options *o = &p->image.pack;
	const char *before = o->exact ? " -Xbcj " : " --bcj ";
	bool has_level = !o->method->filters &&
	    o->method->level_min != o->method->level_max;
	bool hc = strcmp(o->method->name, "lz4hc") == 0;
	char text[SQW_RECORD_MAX];

	if (o->exact)
		printf("built by mksquashfs: -comp %s", hc ? "lz4 -Xhc" :
		    o->method->name);
	else if (p->image.tables.gensquashfs)
		printf("built by gensquashfs: -F %s", o->method->name);
	else
		printf("built by: -F %s", o->method->name);
	for (int i = 0; o->method->filters && i < SQW_FILTERS; i++)
		if ((o->level & 1 << i) != 0) {
			printf("%s%s", before, sqw_filters[i]);
			before = ",";
		}
	if (has_level)
		printf(o->exact ? " -Xcompression-level %d%s" : " -L %d%s",
		    o->level, p->o.data.level != 0 ? " (as given)" : "");
	if (o->exact && o->dictionary != 0)
		printf(" -Xdict-size %u", o->dictionary);
	printf(" -b %u%s", o->block, o->no_probe ? " --no-probe" : "");
	if (o->exact)
		printf("%s%s", o->no_fragments ? " -no-fragments" : "",
		    o->tails ? " -tailends" : "");
	if (p->image.tables.xattrs_unused != 0)
		printf("; 4 bytes of the table of attributes are undefined, "
		    "as mksquashfs 4.4 leaves them");
	printf("%s\n", sqw_record_make(o, text) > 0 && p->image.tables.no_pad &&
	    !o->exact ? "; the image cannot record all of these" : "");
}

/*
 * Rebuilds the image by our own rules and, if that differs, by those of
 * mksquashfs, then of gensquashfs before and since 1.3; reports the result, or the difference that
 * comes last.
 */
static int
check_rebuild(struct sqpack *p, int fd, const char *name, int dir)
{
	enum { OURS, MKSQUASHFS, GENSQUASHFS, GENSQUASHFS_1_3, RULES };
	struct imgsrc_difference d[RULES];
	bool quiet = p->msg.quiet;
	struct sq_file f = { .fd = -1 };
	int rc, i, best = OURS;

	for (i = 0; i < RULES; i++) {
		p->o.data.exact = i == MKSQUASHFS;
		p->o.tables.gensquashfs = p->o.data.gensquashfs =
		    i >= GENSQUASHFS;
		p->o.tables.large_dirs_long = i == GENSQUASHFS_1_3;
		if (i != OURS) {
			/* what is reported would be reported again */
			imgsrc_free(&p->image);
			p->image = (struct imgsrc_image){ .told = false };
			sq_file_close(&f);
			f = (struct sq_file){ .fd = -1 };
			p->msg.quiet = true;
			rc = sys_ftruncate(fd, 0);
			if (rc != 0)
				return output_error(p, name, rc);
		}
		rc = build_to(p, fd, name, dir);
		p->msg.quiet = quiet;
		if (rc == 0)
			rc = open_old(p, &f);
		if (rc == 0)
			rc = imgsrc_compare(&f, fd, &d[i]);
		if (rc < 0) {
			if (p->msg.status == MSG_OK)
				output_error(p, p->o.source, rc);
			goto out;
		}
		if (rc == 0) {
			printf("equal: %llu bytes\n",
			    (unsigned long long)p->image.space.image_B);
			goto out;
		}
		best = i != OURS && d[i].at > d[best].at ? i : best;
	}
	rc = -EBADMSG;
	tell_difference(&f, &d[best]);
	/* what is in fd was built by the last rules */
	if (d[best].at == d[RULES - 1].at)
		explain_difference(p, &f, fd, &d[RULES - 1]);
	p->image.pack.exact = best == MKSQUASHFS;
	p->image.tables.gensquashfs = best >= GENSQUASHFS;
out:
	sq_file_close(&f);
	return rc;
}

/* Builds an image in an unnamed file; for --rebuild-check, also judges it. */
static int
build_nowhere(struct sqpack *p)
{
	const char *name, *whose;
	int dir = open_tmpdir(p, &name), fd = -1, rc = dir;

	if (dir < 0)
		goto out;
	rc = fd = sys_openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		output_error(p, name, fd);
		goto out;
	}
	whose = p->o.output != NULL ? p->o.output : name;
	rc = p->o.rebuild_check ? check_rebuild(p, fd, whose, dir) :
	    build_to(p, fd, whose, dir);
out:
	if (fd >= 0)
		sys_close(fd);
	if (dir >= 0)
		sys_close(dir);
	if (p->o.rebuild_check && !p->msg.quiet &&
	    (rc == 0 || p->msg.status == MSG_OK))
		print_settings(p);
	return rc;
}

int
sqpack_build(struct sqpack *p)
{
	struct output out, signature = { .fd = -1, .dirfd = -1 };
	mode_t mask;
	int rc;

	if (p->o.dry_run || p->o.rebuild_check)
		return build_nowhere(p);
	if (p->o.tables.streamed)
		return build_beside(p, STDOUT_FILENO, "standard output");
	rc = output_create(&out, p->o.output, p->o.force);
	if (rc == -EEXIST) {
		msg_error(&p->msg, "%s exists (-f replaces it)",
		    p->o.output);
		return rc;
	}
	if (rc != 0)
		return output_error(p, p->o.output, rc);
	if (out.direct && S_ISBLK(out.there.st_mode)) {
		/* no unlinked files in /dev, the directory of the device */
		rc = build_beside(p, out.fd, p->o.output);
	} else if (out.direct) {
		msg_error(&p->msg, "%s: an image cannot be written "
		    "sequentially: -o needs a file or a block device",
		    p->o.output);
		rc = -ESPIPE;
	} else {
		rc = build_to(p, out.fd, p->o.output, out.dirfd);
		mask = umask(0);
		umask(mask);
		mask = p->o.from.append == NULL ? 0666 & ~mask :
		    out.there.st_mode & 07777;
		if (rc == 0 && sys_chmod(out.fd, NULL, mask, 0) != 0)
			msg_warn(&p->msg, "%s: cannot set permissions",
			    p->o.output);
	}
	if (rc == 0 && p->o.verity_key != NULL)
		rc = output_error(p, p->o.signature, output_create(&signature,
		    p->o.signature, p->o.force));
	if (rc == 0 && p->o.verity)
		rc = append_verity(p, out.fd, &signature);
	/* a signature without its image does no harm */
	if (rc == 0 && p->o.verity_key != NULL)
		rc = output_error(p, p->o.signature, output_commit(&signature,
		    true));
	else
		output_abort(&signature);
	if (rc != 0) {
		output_abort(&out);
		return rc;
	}
	return output_error(p, p->o.output, output_commit(&out, true));
}

void
sqpack_free(struct sqpack *p)
{
	imgsrc_free(&p->image);
	if (p->o.release != NULL)
		p->o.release(p);
	imgsrc_pseudo_close(p->o.pseudo);
	sys_free(p->o.signature);
	sys_free(p->o.from.excludes);
}
