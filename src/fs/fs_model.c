/*
 * fs_model.c - the filesystem models, and code shared by them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fs/fs_model.h"

#include <string.h>

const struct fs_model *const fs_models[] = { &fs_model_zfs, &fs_model_zfs_fuse,
    &fs_model_btrfs, &fs_model_squashfs, &fs_model_sqpack, NULL };

const struct fs_model *
fs_model_by_name(const char *name)
{
	for (size_t i = 0; fs_models[i] != NULL; i++)
		if (strcmp(fs_models[i]->name, name) == 0)
			return fs_models[i];
	return NULL;
}

unsigned
fs_class_of(uint64_t size)
{
	return size == 0 ? 0 : 63 - (unsigned)__builtin_clzll(size);
}

void
fs_classes_count(struct fs_classes *c, const struct fs_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct fs_item *it = &l->items[i];
		uint64_t size = (uint64_t)it->st.st_size;

		if (it->err != 0 || it->again || !S_ISREG(it->st.st_mode))
			continue;
		c->files[fs_class_of(size)]++;
		c->bytes[fs_class_of(size)] += size;
	}
}

static void
add_row(struct fs_row *to, const struct fs_row *from)
{
	to->files += from->files;
	to->apparent_B += from->apparent_B;
	to->logical_B += from->logical_B;
	to->physical_B += from->physical_B;
	to->whole_B += from->whole_B;
	to->padding_B += from->padding_B;
}

int
fs_classes_rows(const struct fs_classes *c, const struct fs_job *job,
    void (*data)(void *arg, unsigned class, unsigned algorithm,
    struct fs_row *row),
    void (*meta)(void *arg, unsigned algorithm, struct fs_row *row),
    void *arg)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < job->count; i++) {
		struct fs_row all = { .algorithm = job->algorithms[i].text,
		    .size_from_B = -1 };

		for (unsigned k = 0; rc == 0 && k < FS_CLASSES; k++) {
			struct fs_row row = { .algorithm = all.algorithm,
			    .size_from_B = k == 0 ? 0 : (int64_t)1 << k,
			    .files = c->files[k], .apparent_B = c->bytes[k] };

			if (row.files == 0)
				continue;
			data(arg, k, i, &row);
			add_row(&all, &row);
			if (job->by_size)
				rc = job->row(job->arg, &row);
		}
		meta(arg, i, &all);
		if (rc == 0)
			rc = job->row(job->arg, &all);
	}
	return rc;
}
