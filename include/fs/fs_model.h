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
	FS_METADATA = 64,
	FS_OPENZFS = 128
};

/*
 * How a ZFS pool spreads blocks: over disks of which each row has some for
 * parity and the others for data.
 */
struct fs_layout {
	unsigned parity;	/* 0: each block is on one disk, or mirrored */
	unsigned data;
	bool draid;		/* rows are never shared by blocks */
};

/* Which metadata has one more copy than data, as in redundant_metadata. */
enum fs_redundant { FS_REDUNDANT_ALL, FS_REDUNDANT_MOST, FS_REDUNDANT_SOME,
    FS_REDUNDANT_NONE };

struct fs_params {
	unsigned ashift;	/* ZFS: log2 of the sector size, 9..16 */
	uint32_t recordsize;	/* ZFS: a power of two, 512..16M */
	bool early_abort;	/* ZFS: zstd-3 and above first test a record */
	bool force;		/* btrfs: also compress files whose sample looks
				 * incompressible */
	/* OpenZFS only */
	struct fs_layout layout;
	unsigned copies;	/* of data, 1..3 */
	enum fs_redundant redundant;
	uint32_t dnodesize;	/* bytes of a dnode, 512..16K */
	uint64_t special;	/* records of up to so many bytes are on a
				 * special vdev; UINT64_MAX: there is none */
	bool encrypted;
	bool dedup;		/* or another checksum of 256 bits */
	bool not_embedded;	/* the feature embedded_data is disabled */
	bool new_times;		/* a copy that does not keep times */
	const struct packer_zstd *zstd;	/* its libzstd, as in packer_name */
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
	const struct fs_model *model;	/* whose run() is called */
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
	bool children;			/* needs fs_list.with_children */
	/*
	 * Reads all files once, tries all algorithms and reports their rows, in
	 * the same order for any number of threads.  Returns 0 or -errno.  A
	 * file that cannot be read is reported, and does not end the run.
	 */
	int (*run)(const struct fs_job *job);
};

extern const struct fs_model fs_model_zfs, fs_model_zfs_21, fs_model_zfs_fuse,
    fs_model_btrfs, fs_model_squashfs, fs_model_sqpack;

/* All of them; NULL is the last. */
extern const struct fs_model *const fs_models[];

/*
 * Parses a layout: "disk", "mirror", "raidz1:WIDTH" to "raidz3:WIDTH" with up
 * to 255 disks in all, or "draid1:DATAd" to "draid3:DATAd", which may be
 * followed by the children and spares of zpool create.  Returns 0 or -EINVAL.
 */
int fs_layout_by_name(const char *text, struct fs_layout *layout);

/*
 * Looks up a model by name; "zfs" is the newest OpenZFS.  Returns NULL if there
 * is none.
 */
const struct fs_model *fs_model_by_name(const char *name);

/*
 * Opens the packers of a job's algorithms, for blocks of up to `most` bytes;
 * all must be NULL before.  Returns 0 or -ENOMEM; close them even then.
 */
int fs_packers_open(struct packer *packers[FS_ALGORITHMS],
    const struct fs_job *job, size_t most);
void fs_packers_close(struct packer *packers[FS_ALGORITHMS]);

/* The space used by files, or by metadata; as in struct fs_row. */
struct fs_space {
	uint64_t logical_B, physical_B, whole_B, padding_B;
};

/* Files by the log2 of their size, and their space with each algorithm. */
enum { FS_CLASSES = 63 };

struct fs_classes {
	uint64_t files[FS_CLASSES], bytes[FS_CLASSES];
	struct fs_space data[FS_CLASSES][FS_ALGORITHMS];
	struct fs_space meta[FS_ALGORITHMS];	/* belongs to no file */
};

unsigned fs_class_of(uint64_t size);

/* Counts the regular files, each hard-linked file once. */
void fs_classes_count(struct fs_classes *c, const struct fs_list *l);

/*
 * Reports the rows of each algorithm: if requested, a row for each class that
 * has files, then a row for all files and the metadata.  Returns 0 or the
 * result of job->row.
 */
int fs_classes_rows(const struct fs_classes *c, const struct fs_job *job);

/* Reading each listed file once, with several threads. */
struct fs_run {
	/*
	 * Its list and threads are used, and its callbacks called for files
	 * that cannot be read or have changed, and for progress.
	 */
	const struct fs_job *job;
	/* The size of all parts of a file but the last. */
	size_t unit;
	/*
	 * Creates one thread's state.  Returns 0, or -errno, which ends the
	 * run; *worker, NULL before, is closed even then.
	 */
	int (*open)(void *arg, void **worker);
	/* Called after all threads have finished, in any order. */
	void (*close)(void *arg, void *worker);
	/*
	 * Called with a part of a regular file, once for all hard links to it.
	 * The part's len bytes are followed by zeros, up to `unit` bytes in
	 * total.  Parts of a file may arrive in any order, and from several
	 * threads.
	 */
	void (*part)(void *arg, void *worker, size_t item, uint64_t offset,
	    const uint8_t *data, size_t len);
	/*
	 * Called, unless it is NULL, instead of part() for one or more
	 * consecutive parts that are holes, or belong to a file that cannot be
	 * opened.
	 */
	void (*hole)(void *arg, void *worker, size_t item, uint64_t offset,
	    uint64_t len);
	void *arg;
};

/* Returns 0, -ENOMEM, or the result of a callback. */
int fs_run(const struct fs_run *r);

#endif
