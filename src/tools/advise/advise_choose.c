/*
 * advise_choose.c - which candidate serves the objective, and what it saves
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Names, inodes and tables of an image, compressed, per file and per image: in
 * images of six trees under /usr, with 51 to 22354 files, 0.83 to 1.06 of what
 * they really took, which was 0.03 to 1.4 percent of the image.
 */
static const double META_FILE_B = 21, META_IMAGE_B = 2700;

/*
 * How far a size may be off although everything was compressed, as a share of
 * it: directories and the order of the files are not those of the tool, and
 * filesystems have metadata.  It widens the intervals.
 */
static const double ARRANGED[ADVISE_TARGETS] = { [ADVISE_STREAM] = 0.01,
	[ADVISE_SQUASHFS] = 0.025, [ADVISE_BTRFS] = 0.02, [ADVISE_ZFS] = 0.02,
	[ADVISE_SNAP] = 0.025, [ADVISE_LAYERS] = 0.01 };

/* Sizes within this share of each other are the same, and CPU decides. */
static const double SAME = 0.005;

/* What is saved must exceed this share of a file. */
static const double WORTH = 0.02;

double
advise_size(const struct advise_case *c, unsigned k)
{
	return c->estimate[k].size.value + c->meta_B +
	    (double)c->group.unknown_B;
}

static double
disk_Bps(const struct advise_case *c)
{
	const struct advise_group *g = &c->group;

	return g->read_s > 0 ? (double)g->read_B / g->read_s : INFINITY;
}

static double
link_time(const struct advise_tool *t, double bytes)
{
	return t->o.link_Bps > 0 ? bytes / t->o.link_Bps : 0;
}

double
advise_write_time(const struct advise_tool *t, const struct advise_case *c,
    unsigned k, const char **bound)
{
	double disk = (double)c->group.plain_B / disk_Bps(c);
	double cpu = c->estimate[k].cpu.value / t->o.cores;
	double link = link_time(t, advise_size(c, k));

	*bound = cpu >= disk && cpu >= link ? "cores" :
	    link > disk ? "link" : "disk";
	return fmax(cpu, fmax(disk, link));
}

double
advise_read_time(const struct advise_tool *t, const struct advise_case *c,
    unsigned k)
{
	double share = advise_in_parts(c->group.target,
	    &advise_candidates(c->group.target)[k]) ? (double)t->o.touched / 100 : 1;
	double bytes = share * advise_size(c, k);

	return fmax(share * c->estimate[k].back_cpu.value / t->o.cores,
	    fmax(bytes / disk_Bps(c), link_time(t, bytes)));
}

/* What the objective makes as small as possible. */
static double
cost(const struct advise_tool *t, const struct advise_case *c, unsigned k)
{
	const char *bound;

	switch (t->o.objective) {
	case ADVISE_TOTAL_TIME:
		return advise_write_time(t, c, k, &bound) +
		    (double)t->o.reads * advise_read_time(t, c, k);
	case ADVISE_COLD_READ:
		return advise_read_time(t, c, k);
	default:
		return advise_size(c, k);
	}
}

/*
 * Whether a candidate may be proposed: one unit alone says nothing.  A wide
 * interval is no reason to prefer another one, which would be expected to take
 * more; whether anything surely is saved is judged later.
 */
static bool
may_be(const struct advise_case *c, unsigned k)
{
	return c->known[k] && c->read[k] && isfinite(c->estimate[k].size.hi);
}

static void
choose_candidate(const struct advise_tool *t, struct advise_case *c)
{
	const struct advise_candidate *all = advise_candidates(c->group.target);
	double least = INFINITY, cpu = INFINITY;
	bool any = false;

	for (unsigned k = 0; all[k].name != NULL; k++)
		if (may_be(c, k))
			least = fmin(least, cost(t, c, k));
	for (unsigned k = 0; all[k].name != NULL; k++)
		if (may_be(c, k) &&
		    cost(t, c, k) <= least * (1 + SAME) &&
		    c->estimate[k].cpu.value < cpu) {
			cpu = c->estimate[k].cpu.value;
			c->pick = k;
			any = true;
		}
	if (any)
		return;
	c->why_not = "no format that all readers read";
	for (unsigned k = 0; all[k].name != NULL; k++)
		if (c->known[k] && c->read[k])
			c->why_not = ADVISE_UNKNOWN;
}

/* Says what a case saves, or why it is not worth the effort. */
static void
judge(const struct advise_tool *t, struct advise_case *c)
{
	double now = (double)c->group.now_B, sure;

	c->saves_B = now - advise_size(c, c->pick);
	sure = now - c->meta_B - (double)c->group.unknown_B -
	    c->estimate[c->pick].size.hi;
	c->time_s = advise_write_time(t, c, c->pick, &c->bound);
	if (c->saves_B < WORTH * now)
		c->why_not = "already compressed";
	else if (c->saves_B < (double)t->o.least_B)
		c->why_not = "too small";
	else if (sure <= 0)
		c->why_not = ADVISE_UNKNOWN;
}

static int
better_first(const void *a, const void *b)
{
	const struct advise_case *x = a, *y = b;

	if ((x->why_not == NULL) != (y->why_not == NULL))
		return x->why_not == NULL ? -1 : 1;
	if (x->why_not != NULL && x->group.now_B != y->group.now_B)
		return x->group.now_B > y->group.now_B ? -1 : 1;
	if (x->saves_B != y->saves_B)
		return x->saves_B > y->saves_B ? -1 : 1;
	return strcmp(x->place, y->place);
}

static double
meta_of(const struct advise_group *g)
{
	if (g->target != ADVISE_SQUASHFS && g->target != ADVISE_SNAP)
		return 0;
	return META_IMAGE_B * (double)(g->images > 0 ? g->images : 1) +
	    META_FILE_B * (double)(g->count + g->twins);
}

/* Widens an interval for what was not sampled. */
static void
allow_for_order(struct advise_estimate *e, double share)
{
	struct sample_total *s = &e->size;
	double wide = s->value * share;

	if (share == 0)
		return;
	s->lo = fmax(0, s->value - hypot(s->value - s->lo, wide));
	s->hi = s->value + hypot(s->hi - s->value, wide);
}

int
advise_choose(struct advise_tool *t)
{
	unsigned number = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct advise_case *c = &t->cases[i];
		const struct advise_candidate *all =
		    advise_candidates(c->group.target);
		bool any = false;

		if (c->group.frame == NULL)
			continue;
		c->meta_B = meta_of(&c->group);
		for (unsigned k = 0; all[k].name != NULL; k++) {
			int rc = c->why_not != NULL ? -ENODATA :
			    advise_group_estimate(&c->group, k,
			    &c->estimate[k]);

			if (rc == -ENOMEM)
				return rc;
			c->known[k] = rc == 0;
			if (rc == 0)
				allow_for_order(&c->estimate[k],
				    ARRANGED[c->group.target]);
			any |= rc == 0;
		}
		if (!any && c->why_not == NULL)
			c->why_not = c->group.lost > 0 ? "could not be read" :
			    "not measured: needs more --budget";
		if (c->why_not == NULL)
			choose_candidate(t, c);
		if (c->why_not == NULL)
			judge(t, c);
	}
	if (t->count > 0)
		qsort(t->cases, t->count, sizeof(*t->cases), better_first);
	for (size_t i = 0; i < t->count; i++)
		if (t->cases[i].why_not == NULL)
			t->cases[i].number = ++number;
	return 0;
}
