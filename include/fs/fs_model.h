/*
 * fs_model.h - a filesystem, as fsratio asks it what a tree would take
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A new filesystem is a struct fs_model, a
 * table of the compressors it has, and a line in fs_model.c.
 */
#ifndef COLDPRESS_FS_MODEL_H
#define COLDPRESS_FS_MODEL_H

#include "engine/packer/packer.h"
#include "walk/fs_list.h"

#include <stdbool.h>
#include <stdint.h>

enum { FS_ALGORITHMS = 48 };

/* What can be chosen; each is one bit of fs_model.options. */
enum fs_option {
	FS_ASHIFT = 1,
	FS_RECORDSIZE = 2,
	FS_EARLY_ABORT = 4,
	FS_FORCE = 8,
	FS_BLOCK = 16,
	FS_BY_SIZE = 32
};

struct fs_params {
	unsigned ashift;	/* ZFS: log2 of a sector, 9..16 */
	uint32_t recordsize;	/* ZFS: a power of two, 512..16M */
	bool early_abort;	/* ZFS: zstd-3 and above probe a record */
	bool force;		/* btrfs: no file is given up by its sample */
	uint32_t block;		/* squashfs: a power of two, 4K..1M */
};

/* One line of the answer: an algorithm, for all files or some. */
struct fs_row {
	const char *algorithm;
	int64_t size_from_B;	/* of a class of sizes; -1: of all */
	uint64_t files;
	uint64_t apparent_B;	/* their sizes */
	uint64_t logical_B;	/* before compression, as counted there */
	uint64_t physical_B;	/* after it */
	uint64_t whole_B;	/* all that is taken */
	uint64_t metadata_B;	/* of that, no data */
	int64_t padding_B;	/* of that, what data do not fill */
};

/* A tree to be looked at; it and all in it outlast the call. */
struct fs_job {
	const struct fs_list *list;
	const struct fs_params *params;
	const struct packer_name *algorithms;
	unsigned count;		/* of these, up to FS_ALGORITHMS */
	unsigned threads;
	bool by_size;		/* rows for classes of sizes, too */
	/* One at a time: an item that cannot be read, or changed meanwhile. */
	void (*trouble)(void *arg, size_t item, int err);
	/* One at a time, now and then: so many bytes more are done. */
	void (*tick)(void *arg, uint64_t bytes);
	/* From the caller's thread.  0 or -ENOMEM, which ends it. */
	int (*row)(void *arg, const struct fs_row *row);
	void *arg;
};

struct fs_model {
	const char *name;		/* of --fs */
	const char *whole;		/* what fs_row.whole_B is called */
	const char *some;		/* algorithms, if none are named */
	const struct packer_kind *kinds;
	unsigned options;		/* enum fs_option */
	/*
	 * Reads all files once, tries all algorithms and gives their rows,
	 * in their order and whatever the number of threads.  0 or -errno;
	 * a file that cannot be read is told of and does not end it.
	 */
	int (*run)(const struct fs_job *job);
};

extern const struct fs_model fs_model_zfs, fs_model_zfs_fuse, fs_model_btrfs,
    fs_model_squashfs, fs_model_sqpack;

/* By its name, or NULL. */
const struct fs_model *fs_model_by_name(const char *name);

/*
 * For models that count each file alone: files by the log2 of their size.
 */
enum { FS_CLASSES = 63 };

struct fs_classes {
	uint64_t files[FS_CLASSES], bytes[FS_CLASSES];
};

unsigned fs_class_of(uint64_t size);

/* Counts the regular files, hard links once. */
void fs_classes_count(struct fs_classes *c, const struct fs_list *l);

/*
 * Gives the rows: of each algorithm one for each class that has files, where
 * that was asked for, and one for all.  data adds what the files of a class
 * take to row, meta what belongs to no file.  0 or what job->row returned.
 */
int fs_classes_rows(const struct fs_classes *c, const struct fs_job *job,
    void (*data)(void *arg, unsigned class, unsigned algorithm,
    struct fs_row *row),
    void (*meta)(void *arg, unsigned algorithm, struct fs_row *row),
    void *arg);

/* Whether the item has data to be read: no hard link to one before it. */
bool fs_item_has_data(const struct fs_item *it);

#endif
