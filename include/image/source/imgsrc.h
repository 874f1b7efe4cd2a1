/*
 * imgsrc.h - what a squashfs image is made from
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source adds names to the tree of the image, and then provides the data of
 * their files in the order in which it is to be stored; imgsrc_build() writes
 * an image from it.
 *
 * A new source is a struct imgsrc_source.  It is declared below and, if it can
 * be recognized by its path, added to imgsrc_of().  imgsrc_tar.c is the
 * shortest example.
 *
 * An image is built by one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_H

#include "base/progress.h"
#include "image/squashfs/read/reader.h"
#include "image/squashfs/tables/image.h"
#include "image/squashfs/write/data.h"
#include "image/squashfs/write/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * One of several sources; each is a name in the image's root.  If sources keep
 * their paths, a name can have slashes; it is then below one that has none.
 */
struct imgsrc_input {
	char *path;			/* as given */
	char *real;			/* absolute, without leading slash */
	char *name;			/* in the image; "": the root */
	bool is_dir;			/* with everything below it */
};

/* IMGSRC_NOTE: of interest only to those who asked for details. */
enum imgsrc_message { IMGSRC_ERROR, IMGSRC_WARNING, IMGSRC_NOTE };

struct imgsrc_options {
	const char *path;		/* of the source; "-": standard input */
	/* if there are several sources, for a directory; path is the first */
	struct imgsrc_input *inputs;
	size_t input_count;
	size_t top_count;		/* the first inputs: those whose names
					 * have no slash */
	bool no_source;			/* for a directory: there is none, and
					 * complete() adds all names */
	bool skip_ends;			/* for an archive: another may follow
					 * it */
	/* of directories that no entry of an archive describes; NULL: 0755,
	 * user 0, and no time */
	const struct sqw_attr *implied;
	/* names */
	const char **excludes;		/* globs; one without a slash matches
					 * names in any directory */
	size_t exclude_count;
	bool keep_going;		/* leave out files that cannot be
					 * read */
	bool no_links;			/* each hard link becomes a file */
	bool no_xattrs;
	/* Returns whether an attribute is stored.  NULL: all are. */
	bool (*wants_xattr)(void *arg, const char *name);
	bool amends_xattrs;		/* complete() may call
					 * sqt_xattrs_amend() */
	/* attributes for all inodes */
	bool has_uid, has_gid, has_mtime, has_epoch;
	uint32_t uid, gid, mtime;
	int64_t owner_shift;		/* added to all users and groups */
	bool pseudo_first;		/* pseudo files keep the owners that are
					 * defined for them */
	bool pseudo_untimed;		/* those without a time get UINT32_MAX,
					 * for complete() to change */
	uint32_t epoch;			/* later times are clamped to this
					 * time */
	bool has_image_mtime;
	uint32_t image_mtime;		/* otherwise as of the inodes */
	const char *append;		/* image that is added to: its names and
					 * blocks are kept, and its settings
					 * used; or NULL */
	const char *append_under;	/* its root becomes this directory;
					 * NULL: new names are added to it */
	const char *labels;		/* file_contexts, for
					 * imgsrc_labels_apply() */
	const char *base;		/* image whose blocks are copied, or
					 * NULL */
	const char *order;		/* list of the files that come first, or
					 * NULL */
	const char *order_text;		/* what is in the list, if it is not
					 * that file's content; or NULL */
	bool order_backwards;		/* as mksquashfs -sort: the last name
					 * first, and no limits for fragment
					 * blocks */
	bool null_ends;			/* paths in the list end with NUL */
	/* for a source that is an image */
	bool has_offset, has_block;	/* the offset and block size are
					 * given */
	uint64_t offset;		/* of that image in its file */
	bool show_progress;		/* on standard error */
	const struct progress_form *progress;	/* shown in any case; or NULL */
	/*
	 * Returns 1 to exclude one more path of a directory, 0 or -ENOMEM.
	 * NULL: excludes none.
	 */
	int (*left_out)(void *arg, const char *path, const struct stat *st);
	/*
	 * Called by sources of files, when all names have been added; may
	 * change the tree.  Returns 0, or -errno after reporting the error.
	 * NULL: does nothing.
	 */
	int (*complete)(void *arg);
	/* Prints a message.  NULL: does nothing. */
	void (*report)(void *arg, enum imgsrc_message kind, const char *text);
	void *arg;			/* for these functions */
};

struct imgsrc_order;
struct imgsrc_append;

/*
 * The content of a file that is not one of the source's: a file elsewhere, or
 * part of one that does not change.
 */
struct imgsrc_content {
	uint32_t id;			/* of the node */
	char *path;			/* NULL: part of fd */
	int fd;				/* not owned */
	uint64_t at, size;
	bool dense;
};

/* An image that is being built. */
struct imgsrc_image {
	/*
	 * Set by the caller; all else is zero.  A source that is an image
	 * replaces settings by its own.
	 */
	struct imgsrc_options o;
	struct sqw_data_options pack;	/* without tmpdir */
	struct sqt_image_options tables;	/* without data and mtime */
	/* filled in by the source */
	struct sqw_tree tree;
	struct sqt_xattrs *xattrs;	/* NULL: omitted */
	struct imgsrc_content *contents;	/* by id */
	size_t content_count, content_cap;
	uint64_t total_B;		/* size of all files; 0: unknown */
	uint32_t newest;		/* latest inode time */
	/* result */
	struct sqw_data data;
	struct sqt_image_space space;
	uint64_t data_ns;		/* time spent on reading, compressing
					 * and writing data */
	bool told;			/* the error that ends the build has
					 * been reported */
	/* private */
	struct imgsrc_append *append;
	uint32_t kept;			/* ids below this one are of old names
					 * (but 0, the root) */
	struct sq_file base;
	bool has_base;			/* it must be closed */
	struct sqw_base *base_blocks;
	struct sqw_known known;
	struct imgsrc_order *order;	/* NULL: none was given */
	struct progress progress;
};

/*
 * A source of an image.  All functions except close return 0, or -errno from
 * imgsrc_fail() or after it.  An error that is not reported is taken for one of
 * the image's file.
 */
struct imgsrc_source {
	/*
	 * Opens to->o.path and fills in files; to->tree may then be complete.
	 * Sets *state, which is closed even after an error.
	 */
	int (*open)(struct imgsrc_image *to, void **state,
	    struct sqw_source *files);
	/*
	 * Writes the data to fd, at byte `at`, in an order of its own.  If
	 * NULL, the data is read from files.
	 */
	int (*write)(void *state, int fd, uint64_t at);
	/*
	 * Called after the last file.  Completes the tree unless open() did.
	 * May be NULL.
	 */
	int (*finish)(void *state);
	void (*close)(void *state);	/* state may be NULL */
};

/*
 * A directory; a tar archive, compressed or not; the layers of an OCI image,
 * layout or layout:TAG; an image, whose blocks are recompressed; and an image's
 * files, to be cut and compressed once more.
 */
extern const struct imgsrc_source imgsrc_dir, imgsrc_tar, imgsrc_oci,
    imgsrc_repack, imgsrc_rebuild;

/*
 * Returns the source that reads what is at a path; what cannot be read is taken
 * for an archive.
 */
const struct imgsrc_source *imgsrc_of(const char *path);

/*
 * Builds the image in fd, at to->tables.offset.  Data that may be a duplicate
 * or comes too early is kept in unlinked files in tmpdir, a descriptor.
 * imgsrc_free() must be called even after an error.  Returns 0 or -errno;
 * unless to->told, the error concerns fd.
 */
int imgsrc_build(struct imgsrc_image *to, const struct imgsrc_source *source,
    int fd, int tmpdir);
void imgsrc_free(struct imgsrc_image *to);

/*
 * Definitions of pseudo files, as of mksquashfs 4.7.5, which add names to an
 * image and change attributes.  Use from one thread at a time.
 */
struct imgsrc_pseudo;

/* Returns 0 or -ENOMEM. */
int imgsrc_pseudo_open(struct imgsrc_pseudo **p);
void imgsrc_pseudo_close(struct imgsrc_pseudo *p);	/* p may be NULL */

/*
 * Adds a definition, or those in a file ("-": standard input), which may end
 * with data for its files.  Returns 0, -ENOMEM, -EINVAL or -errno, with the
 * reason in why.
 */
enum { IMGSRC_WHY = 512 };
int imgsrc_pseudo_add(struct imgsrc_pseudo *p, const char *definition,
    char why[IMGSRC_WHY]);
int imgsrc_pseudo_add_file(struct imgsrc_pseudo *p, const char *path,
    char why[IMGSRC_WHY]);

/*
 * Defines the directories, with "d MODE UID GID" or "D TIME MODE UID GID", that
 * definitions of names in them require.  Returns the same.
 */
int imgsrc_pseudo_set_parent(struct imgsrc_pseudo *p, const char *definition,
    char why[IMGSRC_WHY]);

/* Returns whether the root is defined, which takes the place of a source. */
bool imgsrc_pseudo_has_root(const struct imgsrc_pseudo *p);

/*
 * Applies all definitions to the tree: for o.complete().  Commands of dynamic
 * files are run now.  The definitions must remain until imgsrc_free().  Returns
 * 0, or -errno after reporting the error.
 */
int imgsrc_pseudo_apply(struct imgsrc_image *to, struct imgsrc_pseudo *p);

/*
 * Gives each inode the SELinux label that to->o.labels has for its first name,
 * if any: for o.complete(), with o.amends_xattrs.  Returns 0, or -errno after
 * reporting the error.
 */
int imgsrc_labels_apply(struct imgsrc_image *to);

/*
 * Parses an attribute, NAME=VALUE; the value is text or, after 0x, 0s or 0t,
 * hexadecimal, base64, or text with octal escapes.  *value must be freed.
 * Returns the length of the name, and sets *value_len; or -EINVAL or -ENOMEM.
 */
ssize_t imgsrc_xattr_parse(const char *text, uint8_t **value,
    size_t *value_len);

/*
 * Parse the number or name of a user or group.  Return 0, or -ENOENT.  Not
 * thread-safe.
 */
int imgsrc_user(const char *text, uint32_t *id);
int imgsrc_group(const char *text, uint32_t *id);

/*
 * Parses a time: seconds since 1970, or a date, which date(1) is asked to
 * convert.  Returns false if it is neither, or out of range.
 */
bool imgsrc_date(const char *text, uint32_t *seconds);

/* The first difference between two images. */
struct imgsrc_difference {
	uint64_t at;
	bool old_ends, made_ends;	/* the image ends at this offset */
	size_t name;			/* number in `old` of the first name
					 * whose data contains it, or 0 */
	const char *where;		/* otherwise: "in the padding" */
};

/*
 * Compares an image with the one in fd that was built from it.  Superblocks are
 * compared last, because any other difference also changes them.  Returns 1 if
 * the images differ, 0 if not, -ENOMEM or -errno from a read.
 */
int imgsrc_compare(const struct sq_file *old, int fd,
    struct imgsrc_difference *d);

/*
 * Returns whether a node comes from the image that is added to, so that options
 * for all files do not concern it.
 */
bool imgsrc_is_kept(const struct imgsrc_image *to, uint32_t id);

/*
 * Returns whether the difference lies in a block that has the same place and
 * content in both images, so that only its compression differs.
 */
bool imgsrc_is_recompressed(const struct sq_file *old, int fd,
    const struct imgsrc_difference *d);

/* For sources */

/* Reports the error that ends the build.  Returns rc. */
int imgsrc_fail(struct imgsrc_image *to, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports that there is not enough memory.  Returns -ENOMEM. */
int imgsrc_no_memory(struct imgsrc_image *to);

/* Reports something after which the build goes on. */
void imgsrc_tell(struct imgsrc_image *to, enum imgsrc_message kind,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Completes the tree once all names have been added, after calling
 * o.complete().  Returns 0, or -errno after reporting the error.
 */
int imgsrc_complete(struct imgsrc_image *to);

/*
 * Returns whether an image's blocks are those that these options would make:
 * the same method, level and block size.
 */
bool imgsrc_has_settings(const struct sq_file *f,
    const struct sqw_data_options *o);

/* Returns whether the options exclude a path of the image. */
bool imgsrc_excluded(const struct imgsrc_image *to, const char *path);

/* Returns the content of a node that is not the source's, or NULL. */
const struct imgsrc_content *imgsrc_content_of(const struct imgsrc_image *to,
    uint32_t id);

/* Sets the owner and times requested by the options. */
void imgsrc_adjust(struct imgsrc_image *to, struct sqw_attr *attr,
    int64_t mtime);

#endif
