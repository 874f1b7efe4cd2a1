/*
 * as.h - sqpack standing in for other programs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of these programs are words with one hyphen; some have a value,
 * which is the next word.
 */
#ifndef COLDPRESS_SQPACK_AS_H
#define COLDPRESS_SQPACK_AS_H

#include "as_actions.h"
#include "sqpack.h"

#include "base/path_regex.h"
#include "base/progress.h"

enum { AS_THREADS_MAX = 1024 };

struct as_words {
	int argc;
	char **argv;
	int at;				/* index of the next word */
	const char *word;		/* the current option */
	const char *value;		/* its value, or NULL */
};

/*
 * What an option does; OWN: to a member of p->o.as, otherwise of struct sqpack.
 * The kinds from AS_VALUE on have a value.
 */
enum as_kind { AS_IGNORED, AS_LACKS, AS_SET, AS_SET_OWN, AS_CLEAR, AS_CALL,
    AS_VALUE, AS_IGNORED_VALUE = AS_VALUE, AS_TEXT, AS_TEXT_OWN,
    AS_CALL_VALUE };

struct as_option {
	const char *name, *alias;	/* including the hyphen; alias may be
					 * NULL */
	enum as_kind kind;
	size_t at;			/* offset of the member */
	/* Returns -1, or the exit status. */
	int (*call)(struct sqpack *p, struct as_words *w);
};

/*
 * Parses the options up to the first word without a hyphen, according to a
 * table that ends with a NULL name.  Returns -1, or the exit status after
 * reporting an error; whose is the name of the program for messages.
 */
int as_parse(struct sqpack *p, struct as_words *w,
    const struct as_option *options, const char *usage, const char *whose);

/* Prints the version of the program, as it does. */
void as_version(const char *program);

/*
 * Changes a mode as chmod(1) does, given an octal number or a symbolic mode
 * without the umask.  Returns false if it is neither.
 */
bool as_mode_apply(const char *text, uint16_t *mode);

/*
 * Parses the option's value as a number in lo..hi.  Returns false after
 * reporting an error.
 */
bool as_number(struct msg *m, const struct as_words *w, int64_t lo,
    int64_t hi, int64_t *n);

/*
 * Parses the option's value as the image offset, in bytes or with a suffix K, M
 * or G.  Returns -1 or MSG_ERROR.
 */
int as_offset(struct sqpack *p, const struct as_words *w, uint64_t *offset);

/*
 * Parses the option's value as the number of threads.  Returns -1 or MSG_ERROR.
 */
int as_threads(struct sqpack *p, const struct as_words *w);

/*
 * Compiles the option's value as a regular expression for names of attributes,
 * which replaces an earlier one.  Returns -1 or MSG_ERROR.
 */
int as_xattr_regex(struct sqpack *p, const struct as_words *w,
    struct path_regex **regex);

/*
 * Returns whether a name matches `in` and does not match `out`; NULL: matches
 * all, or none.
 */
bool as_wants_xattr(const struct path_regex *in, const struct path_regex *out,
    const char *name);

/* A growing array of strings, which it owns. */
struct as_texts {
	char **items;
	size_t count, cap;
};

/*
 * Appends a copy of len bytes of text.  Returns 0, or -ENOMEM after reporting
 * the error.
 */
int as_texts_add(struct sqpack *p, struct as_texts *t, const char *text,
    size_t len);
void as_texts_free(struct as_texts *t);

/*
 * Appends the lines of a file, without leading blanks; skips empty lines and
 * lines that begin with #.  Returns 0, or -errno after reporting the error.
 */
int as_lines(struct sqpack *p, struct as_texts *t, const char *path);

/*
 * Returns whether a path matches a shell pattern, by the rules of these
 * programs: a leading period must be matched explicitly, and patterns such as
 * !(a|b) are recognized.
 */
bool as_matches(const char *pattern, const char *path);

/*
 * Returns whether this C library can match the pattern.  If it cannot, reports
 * it.
 */
bool as_can_match(struct msg *m, const char *pattern);

/*
 * These functions parse the command lines of the programs, and return the same
 * values as sqpack_parse().
 */
int as_mksquashfs_parse(struct sqpack *p, int argc, char **argv);
int as_sqfstar_parse(struct sqpack *p, int argc, char **argv);
int as_unsquashfs_parse(struct sqpack *p, int argc, char **argv);
int as_sqfscat_parse(struct sqpack *p, int argc, char **argv);

/*
 * Writes the selected names as pseudo file definitions, followed by their data,
 * to a file or, for "-", to standard output.  Returns 0, or -errno after
 * reporting the error.
 */
int as_write_pseudo(struct sqpack_image *i, const char *path);

/* Progress, as these programs print it on standard output. */
enum as_bar_style { AS_BAR_MKSQUASHFS, AS_BAR_UNSQUASHFS };

struct as_bar {
	struct progress_form form;
	bool percent;			/* print only percentages */
	uint64_t data, all;		/* steps: while data is written, and in
					 * all */
	/* private */
	enum as_bar_style style;
	uint32_t step_B;
	unsigned turn;
	bool begun;			/* a line without its end */
	int64_t shown;			/* the last step or percentage */
};

/*
 * Prepares b->form; of the members before, only b->percent is kept.  Without a
 * known total, the bar counts steps of step_B bytes.
 */
void as_bar_open(struct as_bar *b, enum as_bar_style style, uint32_t step_B);

/* Shows how far it came in the end, and ends the line. */
void as_bar_close(struct as_bar *b, uint64_t done, uint64_t all);

struct as_time {
	bool given, latest;		/* latest: that of all inodes */
	uint32_t s;
};

/*
 * How sources are called in the image: by the last component of their path, or
 * by all of it, with what is below directories, or only what is listed on
 * standard input.
 */
enum as_style { AS_STRIPPED, AS_TAR_STYLE, AS_CPIO_STYLE };

/* p->o.as, for mksquashfs */
struct as_mksquashfs {
	char **sources;			/* words from the command line */
	size_t source_count;
	enum as_style style;
	char list_end;			/* of names on standard input */
	size_t inputs_made;		/* of p->o.from.inputs, to be freed */
	struct as_texts excludes;	/* as given on the command line */
	struct as_texts paths;		/* excluded in the image, sorted */
	struct imgsrc_pseudo *pseudo;
	bool pseudo_root;		/* they are the only source */
	bool root_is_made;		/* it is not one of the sources */
	struct as_actions *actions;
	struct as_texts out_dirs;	/* left out by actions, sorted */
	size_t out_cap;
	struct as_texts xattrs;		/* NAME=VALUE, for all inodes */
	struct path_regex *xattrs_in, *xattrs_out;
	const char *comp;		/* NULL: gzip */
	int64_t level;			/* 0: default of the compressor */
	const char *dictionary;
	unsigned strategies;		/* bits */
	struct path_regex **patterns;	/* excludes compiled for -regex */
	bool window, algorithm;		/* given, with their defaults */
	bool star;			/* its name is sqfstar */
	bool hc, wildcards, regex, as_directory, replaces, quiet, info, tar;
	bool one_file_system, no_progress, progress;
	struct as_bar bar;
	const char *root_name;		/* for -root-becomes */
	char *real_output;		/* of the image that is added to */
	const char *info_file, *log;
	char *order;			/* of data, with paths in the image */
	uint64_t *refs;			/* of inodes, by node; or NULL */
	const char *root_mode, *file_mode, *dir_mode;	/* NULL: unchanged */
	const char *default_mode;
	struct sqw_attr implied;	/* of directories that an archive only
					 * implies */
	bool has_root_uid, has_root_gid, has_max_depth;
	uint32_t root_uid, root_gid, max_depth;
	struct as_time mkfs_time, all_time, root_time;
	dev_t device;			/* for one_file_system */
};

/* The options of mksquashfs and sqfstar, for as_parse(). */
extern const struct as_option as_mksquashfs_options[];
extern const char as_mksquashfs_usage[];

/*
 * Moves the superblock of an image that was streamed to its start.  If this is
 * interrupted, the image is complete, or can be fixed again.  Returns 0,
 * -EBADMSG if it is not such an image, or -errno.
 */
int as_fix(const char *path);

/*
 * Resolves the sources and exclusions.  A single directory becomes the root;
 * several sources become names in the root.  Returns 0, or -errno after
 * reporting the error.
 */
int as_sources(struct sqpack *p);
void as_sources_free(struct sqpack *p);

/* Applies the options to the tree: for imgsrc_options.complete. */
int as_tree_complete(void *arg);

/* Keeps the references of inodes, for -info: for sqpack_options.inode. */
void as_report_inode(void *arg, size_t node, uint64_t ref);

/*
 * Prints the report about an image that was built, and writes the lists of
 * names: for sqpack_options.done.
 */
void as_report(struct sqpack *p);

#endif
