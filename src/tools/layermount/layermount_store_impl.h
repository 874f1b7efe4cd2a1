/*
 * layermount_store_impl.h - the parts of an additional layer store
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERMOUNT_STORE_IMPL_H
#define COLDPRESS_LAYERMOUNT_STORE_IMPL_H

#include "layermount_store.h"

struct store {
	struct layermount *m;
	pthread_t unloader;
	bool has_unloader;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;		/* a layer's state, or stop */
	bool stop;
	size_t open_count;		/* of layers */
	struct store_image **images;
	size_t image_count, image_cap;
	struct store_layer **layers;
	size_t layer_count, layer_cap;
	uint64_t next_inode;
};

/* layermount_store_unload.c */

/* Starts the thread that unloads layers.  Returns 0 or -errno. */
int store_start(struct store *s);

#endif
