/*
 * fuzz_cas_catalog.c - arbitrary bytes as a catalog of a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects whether it is the root catalog.
 */
#include "cas_read.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
nest(void *arg, const char *path, const struct cas_nested *n, uint32_t links)
{
	(void)arg;
	(void)links;
	if (*path != '/' || n->size == 0 || n->size > LAYER_INDEX_MAX)
		abort();
	return 0;
}

static void
look(const struct lazy_index *x)
{
	for (size_t i = 0; i < x->entry_count; i++) {
		const struct layer_entry *e = &x->entries[i];

		if (*e->path == '/' || (e->run_count > 0 &&
		    e->type != TAR_FILE))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cas_state state = { .slots = 0 };
	struct layer l = { .state = &state };
	struct digest_algo *md5;
	struct cas_rows rows;
	char why[LAYER_WHY] = "";
	uint8_t *copy;
	int rc;

	if (size < 2 || digest_algo_open(&md5, "md5") != 0)
		return 0;
	/* no bytes past its end may be read */
	copy = malloc(size - 1);
	if (copy == NULL)
		return 0;
	memcpy(copy, data + 1, size - 1);
	rc = cas_rows_read(&rows, copy, size - 1, why);
	if (rc == 0)
		rc = cas_entries_add(&(struct cas_entries){ .l = &l,
		    .rows = &rows,
		    .directory = data[0] % 2 == 0 ? "" : "/dir",
		    .relative = data[0] % 4 == 3, .md5 = md5, .nest = nest },
		    why);
	if (rc == 0) {
		index_finish(&l.index);
		look(&l.index);
	} else if (*why == '\0' && rc != -ENOMEM) {
		abort();
	}
	cas_rows_free(&rows);
	index_free(&l.index);
	sys_free(state.units);
	sys_free(state.table);
	digest_algo_close(md5);
	free(copy);
	return 0;
}
