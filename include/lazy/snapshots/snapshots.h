/*
 * snapshots.h - a snapshotter of containerd whose layers may be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot is a directory and its place in a chain of parents.  An active one
 * is written through the mounts that it is given; committing it gives it a name,
 * under which it can be a parent.  A view is read only.  If whoever prepares a
 * snapshot says for which layer of which image, and that layer can be mounted
 * lazily, then it is, and the snapshot is committed at once.
 *
 * ROOT/snapshots/N/fs contains the files of snapshot N, or is the mount of its
 * layer; ROOT/snapshots/N/work is for overlayfs.  ROOT/metadata.db, a database
 * of SQLite, knows all snapshots.  A snapshot is in the database before its
 * directory has its name, and no longer when its directory is removed; so
 * whatever the database does not know, snapshots_open() removes.  Every change
 * is one transaction, and a process may be killed at any time.
 *
 * Sources: containerd's API, services/snapshots/v1/snapshots.proto; the comments
 * in its snapshots/snapshotter.go; docs/snapshotters/remote-snapshotter.md.
 *
 * Functions return 0 or, with the reason in why,
 *	-ENOENT		there is no such snapshot
 *	-EEXIST		there is one already
 *	-EBUSY		it is not in the state that is needed
 *	-EINVAL		the arguments do not make sense
 *	-EAGAIN		its layers cannot be read now
 *	-errno		something else failed
 * Those that take a struct snapshots are thread-safe, except for
 * snapshots_open() and snapshots_close().
 */
#ifndef COLDPRESS_LAZY_SNAPSHOTS_SNAPSHOTS_H
#define COLDPRESS_LAZY_SNAPSHOTS_SNAPSHOTS_H

#include "base/arena.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SNAPSHOTS_WHY = 512 };

/* The numbers are those of the API. */
enum snapshots_kind {
	SNAPSHOTS_VIEW = 1, SNAPSHOTS_ACTIVE = 2, SNAPSHOTS_COMMITTED = 3
};

struct snapshots_label {
	const char *name, *value;
};

struct snapshots_labels {
	struct snapshots_label *of;
	size_t count, cap;
};

struct snapshots_info {
	const char *name;
	const char *parent;		/* its name, or "" */
	enum snapshots_kind kind;
	int64_t created_ns, updated_ns;	/* since 1970 */
	struct snapshots_labels labels;
};

struct snapshots_usage {
	int64_t bytes, inodes;
};

/* A mount, as for mount(8). */
struct snapshots_mount {
	const char *type, *source;
	const char *options[8];
	size_t option_count;
};

/* How layers are mounted lazily. */
struct snapshots_layers {
	/*
	 * Mounts a layer of an image at a directory, with whiteouts as
	 * overlayfs knows them.  Returns 0, or -errno if that is not possible,
	 * after at most the time that the caller of the snapshotter is prepared
	 * to wait.
	 */
	int (*mount)(void *arg, const char *image, const char *digest,
	    const char *dir);
	/* Ends the mount at a directory, if there is one. */
	void (*unmount)(void *arg, const char *image, const char *digest,
	    const char *dir);
	/* Returns whether there is a mount whose files can be read. */
	bool (*is_mounted)(void *arg, const char *dir);
	/* Something happened that an administrator should know. */
	void (*warn)(void *arg, const char *what, const char *why);
	void *arg;
};

struct snapshots;

/*
 * Opens the directory root, an absolute path, which only one process may use at
 * a time, and finishes what an earlier process left.  l must outlive it.
 */
int snapshots_open(struct snapshots **s, const char *root,
    const struct snapshots_layers *l, char why[SNAPSHOTS_WHY]);

/* s may be NULL.  The layers stay mounted. */
void snapshots_close(struct snapshots *s);

/* Returns the number of layers that are mounted lazily, or -errno. */
int64_t snapshots_lazy_count(struct snapshots *s);

/* Unmounts the layers.  They are mounted again when they are needed. */
int snapshots_unmount(struct snapshots *s, char why[SNAPSHOTS_WHY]);

/* Mounts the layers that are not mounted, or no longer. */
int snapshots_remount(struct snapshots *s, char why[SNAPSHOTS_WHY]);

/*
 * Creates a snapshot, active or a view, on top of a committed one (parent; "":
 * none), and describes its mount, whose strings are in a.  With the labels that
 * name a layer, the committed snapshot may be made instead: -EEXIST.
 */
int snapshots_create(struct snapshots *s, enum snapshots_kind kind,
    const char *key, const char *parent, const struct snapshots_labels *labels,
    struct snapshots_mount *m, struct arena *a, char why[SNAPSHOTS_WHY]);

/* Describes the mount of a snapshot that is not committed. */
int snapshots_mount_of(struct snapshots *s, const char *key,
    struct snapshots_mount *m, struct arena *a, char why[SNAPSHOTS_WHY]);

/* Gives an active snapshot a name, and new labels. */
int snapshots_commit(struct snapshots *s, const char *key, const char *name,
    const struct snapshots_labels *labels, char why[SNAPSHOTS_WHY]);

/* Removes a snapshot that is nobody's parent. */
int snapshots_remove(struct snapshots *s, const char *key,
    char why[SNAPSHOTS_WHY]);

/* Describes a snapshot; the strings are in a. */
int snapshots_stat(struct snapshots *s, const char *key,
    struct snapshots_info *i, struct arena *a, char why[SNAPSHOTS_WHY]);

/*
 * Changes labels of i->name to those in *i: all, or only what the paths name
 * ("labels", or "labels." and a name).  An empty value removes a label.  *i
 * then describes the snapshot.
 */
int snapshots_update(struct snapshots *s, struct snapshots_info *i,
    const char *const *paths, size_t path_count, struct arena *a,
    char why[SNAPSHOTS_WHY]);

/*
 * Describes all snapshots that match one of the filters, or all if there are
 * none, in the order of their names.  take() returns 0 to continue, or a result
 * for the caller.
 */
int snapshots_list(struct snapshots *s, const char *const *filters,
    size_t filter_count, int (*take)(void *arg, const struct snapshots_info *i),
    void *arg, char why[SNAPSHOTS_WHY]);

/*
 * Determines the space that a snapshot itself uses; none if its layer is
 * mounted lazily.
 */
int snapshots_usage(struct snapshots *s, const char *key,
    struct snapshots_usage *u, char why[SNAPSHOTS_WHY]);

/* Removes directories that belong to no snapshot. */
int snapshots_cleanup(struct snapshots *s, char why[SNAPSHOTS_WHY]);

struct snapshots_service {
	struct snapshots *snapshots;
	int listener;			/* a listening socket */
	int stop;			/* a descriptor that becomes readable
					 * when the service should end */
	unsigned timeout_s;		/* for requests being answered then */
};

/*
 * Serves containerd.services.snapshots.v1.Snapshots over gRPC until asked to
 * stop.  Returns 0; -ETIMEDOUT if a request is then still being answered, and
 * nothing must be closed before the process exits; or another -errno.
 */
int snapshots_serve(const struct snapshots_service *s);

/*
 * Answers one request, whose method's name is without its service; for tests.
 * *messages is set to the encoded replies, each after the five bytes of gRPC's
 * framing, to be freed by the caller with strbuf_free().  Returns the gRPC
 * status, with the reason in why unless it is 0.
 */
int snapshots_answer(struct snapshots *s, const char *method,
    const void *request, size_t length, struct strbuf *messages,
    char why[SNAPSHOTS_WHY]);

#endif
