/*
 * extract.h - extracting the entries of an archive below a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry's directory is opened from the root of the extraction without
 * following symbolic links, and the name itself is not followed either.
 * Nothing is therefore created outside the root, regardless of the entries,
 * even if another process changes the directories in the meantime.
 *
 * Directories are created first, then, by several threads, all other names
 * except for hard links.  The source writes the data, with several threads of
 * its own.  What is incomplete after that is removed.  Hard links follow, so
 * that no file is written while it has another name, and finally the
 * attributes of directories, each after its contents.
 *
 * Most errors concern one entry: they are reported, and the extraction goes
 * on.  An error that would also affect every later write (a full disk, for
 * example) ends it: nothing more is created, but what exists is completed, and
 * the missing entries are reported.
 */
#ifndef COLDPRESS_WALK_EXTRACT_H
#define COLDPRESS_WALK_EXTRACT_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define EXTRACT_NONE SIZE_MAX

/*
 * How overlayfs stores a whiteout, which has the mode of a file, and no
 * attributes of its own.
 */
enum extract_form {
	EXTRACT_PLAIN,
	EXTRACT_WHITEOUT,		/* a 0/0 device */
	EXTRACT_OPAQUE			/* an attribute of its directory */
};

struct extract_entry {
	mode_t mode;			/* type and permissions */
	enum extract_form form;
	/*
	 * The nearest directory above it that is an entry, or EXTRACT_NONE.
	 * Directories that are not entries are created as needed, with mode
	 * 0755.
	 */
	size_t parent;
	/*
	 * The entry itself; for a hard link, the entry of which it is another
	 * name, which is not a hard link.
	 */
	size_t file;
	bool above;			/* a directory that keeps its attributes
					 * if it exists */
	bool has_owner;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	dev_t device;
	uint64_t size;			/* of a file */
	const char *target;		/* of a symbolic link: not
					 * NUL-terminated */
	size_t target_len;
};

/* A buffer for a path, freed by the extraction. */
struct extract_text {
	char *text;			/* from sys_malloc() */
	size_t cap;
};

enum extract_level {
	EXTRACT_ERROR,
	EXTRACT_WARNING,
	EXTRACT_NOTE			/* an entry missing after an error that
					 * ended the extraction */
};

struct extract;

/* Passed an attribute's full name by extract_source.attributes. */
typedef void extract_attribute_fn(void *to, const char *name,
    const void *value, size_t len);

/*
 * The entries: no two of them have the same path.  All functions may be called
 * by several threads at once, except for data, which is called once.
 */
struct extract_source {
	size_t count;
	/* Describes entry n.  Returns false if it is not to be extracted. */
	bool (*get)(void *arg, size_t n, struct extract_entry *e);
	/*
	 * Returns the path of entry n, clean and relative, "" for the root;
	 * valid until t is used again.  Returns NULL if there is no memory.
	 */
	const char *(*path)(void *arg, size_t n, struct extract_text *t);
	/*
	 * Returns the last component of entry n's path, *len bytes, which
	 * remain valid.  NULL: it is taken from the path, which in a deep tree
	 * takes longer.  If there is this function, an entry's parent must be
	 * the directory that contains it; the root is its own parent.
	 */
	const char *(*name)(void *arg, size_t n, size_t *len);
	/* Passes the extended attributes of entry n to set.  May be NULL. */
	void (*attributes)(void *arg, size_t n, extract_attribute_fn *set,
	    void *to);
	/*
	 * Writes the data of all files with the functions below, until
	 * extract_ended().  May be NULL.
	 */
	void (*data)(void *arg, struct extract *x);
	/* Reports an error for a path, or, if it is NULL, for the whole. */
	void (*report)(void *arg, enum extract_level level, const char *path,
	    const char *text);
	void *arg;
};

struct extract_options {
	int root;			/* descriptor; not closed */
	bool made_root;			/* set the attributes of the root */
	bool replace;			/* replace existing files */
	bool owner;			/* running as root: set owners, and
					 * create devices */
	unsigned threads;
	/*
	 * NULL, or: called when all directories exist, before anything else is
	 * created, and before that for directories at a multiple of
	 * EXTRACT_LEVELS below the root, which are open at fd: the first
	 * EXTRACT_NEAR, and then those at a multiple of EXTRACT_FAR levels.
	 */
	void (*made_dirs)(void *arg);
	void (*made_deep)(void *arg, int fd);
	void *arg;
};

enum { EXTRACT_LEVELS = 4, EXTRACT_NEAR = 4096, EXTRACT_FAR = 64 };

/*
 * Prepares an extraction.  s must remain valid.  Returns 0 or -ENOMEM.
 */
int extract_open(struct extract **x, const struct extract_source *s,
    const struct extract_options *o);
void extract_close(struct extract *x);		/* may be NULL */

/*
 * Announces that a piece of file n will be written.  Called before
 * extract_run(), as often as extract_file_open() will be for this file.  A file
 * without pieces consists of zeros.  Not thread-safe.
 */
void extract_expect(struct extract *x, size_t n);

/*
 * Extracts everything.  Returns 0, which includes errors that concern only
 * some entries, or the -errno that ended the extraction.  All errors have been
 * reported.
 */
int extract_run(struct extract *x);

/* Returns whether entry n was extracted: after extract_run(). */
bool extract_made(const struct extract *x, size_t n);

/* For extract_source.data */

/* A thread's current directory, and a name in it; all members are private. */
enum { EXTRACT_HELD = 32 };

struct extract_place {
	struct extract *x;
	int fd;				/* of a directory; -1: none */
	size_t entry;			/* that directory, or EXTRACT_NONE: not
					 * known */
	char *dir;			/* its path */
	size_t dir_cap;
	/* that directory, last, and some that contain it, to be reused */
	struct {
		int fd;
		size_t len;		/* of its path */
		size_t level;		/* below the root */
	} held[EXTRACT_HELD];
	unsigned held_count;
	struct extract_text text;
	char name[NAME_MAX + 1];
};

void extract_place_open(struct extract_place *p, struct extract *x);
void extract_place_close(struct extract_place *p);

/*
 * Opens file n to write a piece at its offset, and creates it if it has only
 * one.  Returns a descriptor, or -1 if the file is not to be written; why has
 * been reported.
 */
int extract_file_open(struct extract_place *p, size_t n);

/*
 * Closes the file; rc is 0, or the -errno with which writing the piece failed.
 * After the last piece, the file's attributes are set.
 */
void extract_file_close(struct extract_place *p, int fd, size_t n, int rc);

/*
 * Gives up a file that cannot be complete: it will be removed if it has been
 * created.  Unless rc is 0, reports why, followed by the text for -errno if rc
 * is not -EBADMSG.
 */
void extract_file_break(struct extract_place *p, size_t n, const char *why,
    int rc);

/* Returns whether file n is still to be written. */
bool extract_wants(const struct extract *x, size_t n);

/* Ends the extraction after an error that does not concern one entry. */
void extract_end(struct extract *x, int rc);

/* Returns whether an error has ended the extraction.  Thread-safe. */
bool extract_ended(const struct extract *x);

#endif
