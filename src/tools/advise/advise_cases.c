/*
 * advise_cases.c - which files one proposal is about, and the time for each
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_tool.h"

#include "base/array.h"
#include "base/cpus.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum {
	SMALL_TEXT_B = 256 << 10,	/* smaller text is part of a tree */
	PROBES = 40,			/* draws that tell compressed data */
	DRAWS_MAX = 3000,		/* more would not narrow an interval */
	FIRST_TRIES = 3,
	IMAGES_MOST = 64,		/* that are open at the same time */
	DRAWING = 30			/* percent of the time */
};

/* What --for makes of a tree. */
static const struct {
	const char *name;
	enum advise_target target;
} uses[] = { { "tar", ADVISE_STREAM }, { "image", ADVISE_SQUASHFS },
    { "snap", ADVISE_SNAP }, { "layers", ADVISE_LAYERS },
    { "mail", ADVISE_MAIL_STORE }, { "fs", ADVISE_BTRFS },
    { "btrfs", ADVISE_BTRFS }, { "zfs", ADVISE_ZFS } };

/* What files of a kind become if nothing else is asked for. */
static const struct {
	enum advise_target target;
	bool probe;
	const char *why_not;
} habits[ADVISE_KINDS] = {
	[ADVISE_LOG] = { .target = ADVISE_FILES },
	[ADVISE_TEXT] = { .target = ADVISE_FILES },
	[ADVISE_SOURCE] = { .target = ADVISE_BTRFS },
	[ADVISE_MAIL] = { .target = ADVISE_MAIL_STORE },
	[ADVISE_PROGRAM] = { .target = ADVISE_BTRFS },
	[ADVISE_TAR] = { .target = ADVISE_FILES },
	[ADVISE_GZIP] = { .target = ADVISE_FILES },
	[ADVISE_PACKED] = { .target = ADVISE_FILES, .probe = true },
	[ADVISE_IMAGE] = { .target = ADVISE_SQUASHFS },
	[ADVISE_LAYER] = { .target = ADVISE_LAYERS },
	[ADVISE_DATABASE] = { .target = ADVISE_BTRFS, .probe = true,
	    .why_not = "databases are written in place" },
	[ADVISE_MEDIA] = { .target = ADVISE_FILES, .probe = true },
	[ADVISE_OTHER] = { .target = ADVISE_BTRFS },
};

static int
add_to_group(struct advise_group *g, struct advise_file *f)
{
	void *files = g->files;
	int rc = array_grow(&files, g->count, &g->room, sizeof(*g->files));

	g->files = files;
	if (rc != 0)
		return rc;
	g->files[g->count++] = f;
	g->now_B += f->size;
	if (f->mtime > g->newest || g->count == 1)
		g->newest = f->mtime;
	return 0;
}

/* Returns the deepest directory that holds all files of a group, or a file. */
static char *
place_of_files(const struct advise_group *g)
{
	const char *first = g->files[0]->path;
	size_t n = strlen(first);

	for (size_t i = 1; i < g->count; i++) {
		size_t k = 0;

		while (k < n && g->files[i]->path[k] == first[k])
			k++;
		n = k;
	}
	if (g->count > 1)
		while (n > 0 && first[n - 1] != '/')
			n--;
	/* a row is one line: the name of such a file is not in it */
	if (memchr(first, '\n', n) != NULL) {
		n = strcspn(first, "\n");
		while (n > 0 && first[n - 1] != '/')
			n--;
		return strcopy_part(first, n);
	}
	/* without the slash at the end, unless it is the root */
	if (g->count > 1 && n > 1)
		n--;
	return n == 0 ? strcopy(".") : strcopy_part(first, n);
}

/* Adds an empty case.  Returns 0 or -ENOMEM. */
static int
add_case(struct advise_tool *t, struct advise_case **c)
{
	void *cases = t->cases;
	int rc = array_grow(&cases, t->count, &t->room, sizeof(*t->cases));

	if (rc != 0)
		return rc;
	t->cases = cases;
	*c = &t->cases[t->count++];
	**c = (struct advise_case){ .why_not = NULL };
	return 0;
}

/* Removes the last case if nothing is in it, otherwise completes it. */
static int
end_case(struct advise_tool *t, struct advise_case *c)
{
	if (c->group.count == 0) {
		t->count--;
		return 0;
	}
	c->place = place_of_files(&c->group);
	c->group.place = c->place;
	return c->place == NULL ? -ENOMEM : 0;
}

/* A file that something may still be writing to. */
static bool
is_hot(const struct advise_tool *t, const struct advise_file *f)
{
	return t->o.hot_min > 0 && f->mtime > (int64_t)time(NULL) -
	    60 * (int64_t)t->o.hot_min;
}

/* Whether a proposal about the files of a kind includes this one. */
static bool
is_of(enum advise_kind kind, const struct advise_file *f)
{
	/* small text is like source: part of a tree */
	return f->kind == kind && (kind != ADVISE_TEXT ||
	    f->size >= SMALL_TEXT_B);
}

bool
advise_is_proposed(const struct advise_tool *t, const struct advise_file *f)
{
	return f->size > 0 && is_of(f->kind, f) && !is_hot(t, f);
}

/* Puts the files of an image, instead of the image, into a case. */
static int
open_image(struct advise_case *c, struct advise_file *f)
{
	void *images = c->images;
	struct advise_image *image;
	int rc = advise_image_open(&image, f->path);

	if (rc == -ENOMEM)
		return rc;
	if (rc != 0) {
		f->err = -rc;
		return 0;
	}
	rc = array_grow(&images, c->image_count, &c->image_room,
	    sizeof(struct advise_image *));
	c->images = images;
	if (rc != 0) {
		advise_image_close(image);
		return rc;
	}
	c->images[c->image_count++] = image;
	c->group.images++;
	c->group.block = advise_image_block(image);
	/* a program or a head in front of the image stays */
	c->group.unknown_B += advise_image_offset(image);
	return advise_image_list(image, &c->group);
}

/* Opens the images that a case is about. */
static int
open_images(struct advise_case *c)
{
	struct advise_group *g = &c->group, of = *g;
	int rc = 0;

	/* what is in an image takes the place of the image itself */
	g->files = NULL;
	g->count = g->room = 0;
	for (size_t i = 0; i < of.count && rc == 0; i++) {
		if (i < IMAGES_MOST)
			rc = open_image(c, of.files[i]);
		else
			g->unknown_B += of.files[i]->size;
		if (of.files[i]->err != 0)
			g->unknown_B += of.files[i]->size;
	}
	sys_free(of.files);
	return rc;
}

/* Makes a case of an operand's files of one kind, hot or not. */
static int
make_kind(struct advise_tool *t, uint32_t operand, enum advise_kind kind,
    bool hot)
{
	struct advise_case *c;
	int rc = add_case(t, &c);

	if (rc != 0)
		return rc;
	c->group.operand = operand;
	c->group.kind = kind;
	c->group.target = habits[kind].target;
	c->probe = habits[kind].probe;
	c->why_not = hot ? "hot" : habits[kind].why_not;
	for (size_t i = 0; i < t->census.count && rc == 0; i++) {
		struct advise_file *f = &t->census.files[i];

		if (f->operand == operand && f->size > 0 && is_of(kind, f) &&
		    is_hot(t, f) == hot)
			rc = add_to_group(&c->group, f);
	}
	if (rc == 0)
		rc = end_case(t, c);
	if (rc == 0 && c->group.count > 0 && kind == ADVISE_IMAGE && !hot)
		rc = open_images(c);
	return rc;
}

/*
 * Makes a case of the files of an operand for which `all` is set, or which
 * belong to no case of their own kind.
 */
static int
make_tree(struct advise_tool *t, uint32_t operand, enum advise_target target,
    bool all)
{
	struct advise_case *c;
	int rc = add_case(t, &c);

	if (rc != 0)
		return rc;
	c->group.operand = operand;
	c->group.kind = ADVISE_KINDS;
	c->group.target = target;
	for (size_t i = 0; i < t->census.count && rc == 0; i++) {
		struct advise_file *f = &t->census.files[i];
		enum advise_kind k = f->kind;

		if (f->operand == operand && f->size > 0 &&
		    (all || k == ADVISE_SOURCE || k == ADVISE_PROGRAM ||
		    k == ADVISE_OTHER || (k == ADVISE_TEXT && !is_of(k, f))))
			rc = add_to_group(&c->group, f);
	}
	rc = rc != 0 ? rc : end_case(t, c);
	if (rc == 0 && all && c->group.count > 0) {
		/* the proposal is about the operand, whatever is in it */
		sys_free(c->place);
		c->place = strcopy(t->o.places[operand]);
		c->group.place = c->place;
		rc = c->place == NULL ? -ENOMEM : 0;
	}
	if (rc == 0 && c->group.count > 0 && (target == ADVISE_SQUASHFS ||
	    target == ADVISE_SNAP))
		rc = advise_group_unique(&c->group);
	return rc;
}

/* Whether an operand mostly consists of source and programs. */
static bool
is_tree(const struct advise_tool *t, uint32_t operand)
{
	uint64_t all = 0, tree = 0, code = 0;

	for (size_t i = 0; i < t->census.count; i++) {
		struct advise_file *f = &t->census.files[i];
		bool is_code = f->kind == ADVISE_SOURCE ||
		    f->kind == ADVISE_PROGRAM;

		if (f->operand != operand)
			continue;
		all += f->size;
		code += is_code ? f->size : 0;
		tree += is_code || f->kind == ADVISE_OTHER ||
		    (f->kind == ADVISE_TEXT && !is_of(ADVISE_TEXT, f)) ?
		    f->size : 0;
	}
	return tree > all / 2 && code > all / 4;
}

int
advise_cases_make(struct advise_tool *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->o.place_count && rc == 0; i++) {
		if (t->o.what_for != NULL) {
			size_t k = 0;

			while (strcmp(uses[k].name, t->o.what_for) != 0)
				k++;
			rc = make_tree(t, i, uses[k].target, true);
			continue;
		}
		if (is_tree(t, i)) {
			rc = make_tree(t, i, ADVISE_SQUASHFS, true);
			continue;
		}
		for (int k = 0; k < ADVISE_KINDS && rc == 0; k++) {
			if (k == ADVISE_SOURCE || k == ADVISE_PROGRAM ||
			    k == ADVISE_OTHER)
				continue;
			rc = make_kind(t, i, (enum advise_kind)k, false);
			if (rc == 0)
				rc = make_kind(t, i, (enum advise_kind)k, true);
		}
		if (rc == 0)
			rc = make_tree(t, i, ADVISE_BTRFS, false);
	}
	return rc;
}

/* Returns the time that the budget is compared with. */
static uint64_t
now_ns(const struct advise_tool *t)
{
	struct timespec cpu;

	if (!t->o.cpu)
		return sys_now_ns();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
}

/* Whether there is anything to measure in a case. */
static bool
is_measured(const struct advise_case *c)
{
	return c->group.frame != NULL && c->group.plain_B > 0;
}

static bool
can_draw(const struct advise_case *c)
{
	return !c->all_drawn && c->group.draw_count < (c->probe ?
	    (size_t)PROBES : (size_t)DRAWS_MAX);
}

/* Whether there is something to try, for which the time will suffice. */
static bool
can_try(const struct advise_case *c, double left_s)
{
	const struct advise_group *g = &c->group;
	bool slow = advise_group_slow_due(g);

	return !c->probe && (slow || g->tried < g->draw_count) &&
	    c->cost_s[slow] <= left_s;
}

/*
 * Chooses the case that has been measured least for its size.  In phase 1,
 * units are drawn; in phase 2 everything is tried on them.
 */
static struct advise_case *
neediest(struct advise_tool *t, int phase, double left_s)
{
	struct advise_case *best = NULL;
	double most = -1;

	for (size_t i = 0; i < t->count; i++) {
		struct advise_case *c = &t->cases[i];
		const struct advise_group *g = &c->group;
		size_t n = phase == 1 ? g->draw_count : g->tried +
		    g->slow_tried;
		double score = (double)g->plain_B / ((double)(n + 1) *
		    (double)(n + 1));

		if (!is_measured(c) || !(phase == 1 ? can_draw(c) :
		    can_try(c, left_s)))
			continue;
		if (n < FIRST_TRIES)
			score += 1e20 / (double)(n + 1);
		if (score > most) {
			most = score;
			best = c;
		}
	}
	return best;
}

/* Measures until a time, or until there is nothing to do.  Returns -errno. */
static int
measure_until(struct advise_tool *t, int phase, uint64_t end_ns)
{
	for (;;) {
		uint64_t now = now_ns(t);
		double left = now < end_ns ? 1e-9 * (double)(end_ns - now) : 0;
		struct advise_case *c = neediest(t, phase, left);
		bool slow;
		int rc;

		if (c == NULL || left <= 0)
			return 0;
		slow = advise_group_slow_due(&c->group);
		rc = phase == 1 ? advise_group_draw(&c->group) :
		    advise_group_try(&c->group);
		if (rc < 0)
			return rc;
		if (phase == 1)
			c->all_drawn = rc == 0;
		else
			c->cost_s[slow] = 1e-9 * (double)(now_ns(t) -
			    now);
	}
}

int
advise_cases_measure(struct advise_tool *t, uint64_t end_ns)
{
	uint64_t now = now_ns(t);
	double left = now < end_ns ? 1e-9 * (double)(end_ns - now) : 1;
	double weight = 0;
	int rc = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->cases[i].why_not == NULL)
			weight += sqrt((double)t->cases[i].group.now_B);
	for (size_t i = 0; i < t->count && rc == 0; i++) {
		struct advise_case *c = &t->cases[i];
		double share = sqrt((double)c->group.now_B) / (weight + 1);

		if (c->why_not != NULL)
			continue;
		if (c->group.now_B < t->o.least_B) {
			c->why_not = "too small";
			continue;
		}
		c->group.threads = cpus_choose(0, ADVISE_CANDIDATES);
		/* the tools use the same libraries */
		c->group.start_s = t->start_s;
		c->group.touch_s = t->touch_s;
		rc = advise_group_frame(&c->group, left * share, t->o.seed);
		if (rc == -ENODATA) {
			c->why_not = "could not be sampled";
			rc = 0;
		}
	}
	/* draw some, try everything on them, and so on while there is time */
	for (size_t drawn = 0, before = 1; rc == 0 && drawn != before;) {
		before = drawn;
		now = now_ns(t);
		rc = measure_until(t, 1, now >= end_ns ? now :
		    now + (end_ns - now) * DRAWING / 100);
		if (rc == 0)
			rc = measure_until(t, 2, end_ns);
		drawn = 0;
		for (size_t i = 0; i < t->count; i++)
			drawn += t->cases[i].group.draw_count;
	}
	return rc;
}

void
advise_cases_free(struct advise_tool *t)
{
	for (size_t i = 0; i < t->count; i++) {
		advise_group_free(&t->cases[i].group);
		for (size_t k = 0; k < t->cases[i].image_count; k++)
			advise_image_close(t->cases[i].images[k]);
		sys_free(t->cases[i].images);
		sys_free(t->cases[i].place);
	}
	sys_free(t->cases);
}
