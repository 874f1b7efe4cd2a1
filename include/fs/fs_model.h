/*
 * fs_model.h - the interface of a filesystem model for fsratio
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A new filesystem is a struct fs_model, a table of its compressors, and a line
 * in fs_model.c.
 */
#ifndef COLDPRESS_FS_MODEL_H
#define COLDPRESS_FS_MODEL_H

#include "engine/packer/packer.h"
#include "walk/fs_list.h"

#include <stdbool.h>
#include <stdint.h>

enum { FS_ALGORITHMS = 48 };

/* The options of a model; each is one bit of fs_model.options. */
enum fs_option {
	FS_ASHIFT = 1,
	FS_RECORDSIZE = 2,
	FS_EARLY_ABORT = 4,
	FS_FORCE = 8,
	FS_BLOCK = 16,
	FS_BY_SIZE = 32,
	FS_METADATA = 64
};

struct fs_params {
	unsigned ashift;	/* ZFS: log2 of the sector size, 9..16 */
	uint32_t recordsize;	/* ZFS: a power of two, 512..16M */
	bool early_abort;	/* ZFS: zstd-3 and above first test a record */
	bool force;		/* btrfs: also compress files whose sample looks
				 * incompressible */
	bool single;		/* btrfs: metadata is stored once, not twice */
	uint32_t block;		/* squashfs: a power of two, 4K..1M */
};

/* One line of the result: an algorithm, for all files or for a size class. */
struct fs_row {
	const char *algorithm;
	int64_t size_from_B;	/* start of a size class; -1: all files */
	uint64_t files;
	uint64_t apparent_B;	/* total size of the files */
	uint64_t logical_B;	/* size before compression, as counted by the
				 * filesystem */
	uint64_t physical_B;	/* size after compression */
	uint64_t whole_B;	/* total space used */
	uint64_t metadata_B;	/* the part of whole_B that is not data */
	uint64_t padding_B;	/* the part of whole_B left unused by data */
};

/*
 * A tree to examine; it and everything in it must remain valid during the call.
 */
struct fs_job {
	const struct fs_list *list;
	const struct fs_params *params;
	const struct packer_name *algorithms;
	unsigned count;		/* number of algorithms, up to FS_ALGORITHMS */
	unsigned threads;
	bool by_size;		/* also report rows for size classes */
	/*
	 * Reports an item that cannot be read or has changed; calls do not
	 * overlap.
	 */
	void (*on_error)(void *arg, size_t item, int err);
	/*
	 * Occasionally reports how many more bytes have been processed; calls
	 * do not overlap.
	 */
	void (*on_progress)(void *arg, uint64_t bytes);
	/*
	 * Called in the caller's thread.  Returns 0, or -ENOMEM, which ends the
	 * run.
	 */
	int (*row)(void *arg, const struct fs_row *row);
	void *arg;
};

struct fs_model {
	const char *name;		/* name for --fs */
	const char *whole;		/* name of fs_row.whole_B */
	const char *some;		/* default algorithms */
	const struct packer_kind *kinds;
	unsigned options;		/* enum fs_option */
	/*
	 * Reads all files once, tries all algorithms and reports their rows, in
	 * the same order for any number of threads.  Returns 0 or -errno.  A
	 * file that cannot be read is reported, and does not end the run.
	 */
	int (*run)(const struct fs_job *job);
};

extern const struct fs_model fs_model_zfs, fs_model_zfs_fuse, fs_model_btrfs,
    fs_model_squashfs, fs_model_sqpack;

/* All of them; NULL is the last. */
extern const struct fs_model *const fs_models[];

/* Looks up a model by name.  Returns NULL if there is none. */
const struct fs_model *fs_model_by_name(const char *name);

/*
 * File counts by the log2 of their size, for models that count each file
 * separately.
 */
enum { FS_CLASSES = 63 };

struct fs_classes {
	uint64_t files[FS_CLASSES], bytes[FS_CLASSES];
};

unsigned fs_class_of(uint64_t size);

/* Counts the regular files, each hard-linked file once. */
void fs_classes_count(struct fs_classes *c, const struct fs_list *l);

/*
 * Reports the rows of each algorithm: if requested, a row for each class that
 * has files, then a row for all files.  data adds the space used by the files
 * of a class to the row, and meta the space that belongs to no file.  Returns 0
 * or the result of job->row.
 */
int fs_classes_rows(const struct fs_classes *c, const struct fs_job *job,
    void (*data)(void *arg, unsigned class, unsigned algorithm,
    struct fs_row *row),
    void (*meta)(void *arg, unsigned algorithm, struct fs_row *row),
    void *arg);

#endif
