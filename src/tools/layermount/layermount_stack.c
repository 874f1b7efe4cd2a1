/*
 * layermount_stack.c - the layers presented as one tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

static int
build_tree(struct stack *s, enum merge_mode mode)
{
	struct layer **layers = sys_calloc(s->source_count + 1,
	    sizeof(*layers));
	char why[LAYER_WHY] = "";
	int rc = layers == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < s->source_count; i++)
		layers[i] = s->sources[i]->layer;
	if (rc == 0)
		rc = merge_build(&s->tree, layers, s->source_count, mode, why);
	sys_free(layers);
	return rc == 0 ? 0 : layermount_refuse(s->m, s->source_count == 1 ?
	    s->sources[0]->name : s->m->mountpoint, rc, why);
}

int
stack_build(struct stack *s, enum merge_mode mode)
{
	struct layermount *m = s->m;
	int rc = build_tree(s, mode);

	if (rc != 0)
		return rc;
	s->seen = sys_calloc(merge_count(s->tree), 1);
	rc = s->seen == NULL ? -ENOMEM : 0;
	if (rc == 0 && m->o.store) {
		s->lookups = sys_calloc(merge_count(s->tree),
		    sizeof(*s->lookups));
		rc = s->lookups == NULL ? -ENOMEM : 0;
	}
	if (rc == 0 && m->o.prefetch != PREFETCH_NONE)
		rc = trace_load(s);
	if (rc != 0)
		return layermount_refuse(m, m->mountpoint, rc, "");
	atomic_fetch_add(&m->layers, s->source_count);
	atomic_fetch_add(&m->files, merge_count(s->tree));
	return 0;
}

void
stack_close(struct stack *s)
{
	void *seen, *lookups;

	trace_free(s->trace);
	merge_free(s->tree);
	sources_close(s);
	memcpy(&seen, &s->seen, sizeof(seen));
	memcpy(&lookups, &s->lookups, sizeof(lookups));
	sys_free(seen);
	sys_free(lookups);
	*s = (struct stack){ .m = s->m };
}
