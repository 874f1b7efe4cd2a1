/*
 * advise_group.c - a sample of a group, and what it says about the whole
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * pzc compresses zstd and xz in jobs that are larger than a unit, so a unit is
 * read together with what these candidates can refer to before it.
 */
#include "advise_frame.h"

#include "base/array.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	UNIT_LEAST = 1 << 20, UNIT_MOST = 8 << 20,
	WHOLE_MOST = 64 << 20,		/* a stream that is one unit */
	BEFORE_MOST = 8 << 20,		/* the largest window */
	AGAIN_LEAST = 16 << 10,		/* a file whose repetition counts */
	SLOW_TIMED = 4,			/* draws on which the slow are timed,
					 * one after another */
	DROP_AFTER = 4,			/* draws before one is dropped */
	CLOCK_LEAST = 3, CLOCK_MOST = 12,	/* pairs of timings */
	SLOW_SHARE = 2,			/* time for the slow, relative to that
					 * for the others, */
	FAST_ENOUGH = 10,		/* but after so many draws */
	SLOW_SHARE_THEN = 8
};

/*
 * CPU seconds for a MiB and all candidates, with their histories, on a common
 * processor: chooses the size of units, not the result.
 */
static const double UNIT_COST_S = 3.5;

/* Whether the files become one stream. */
static bool
is_joint(const struct advise_group *g)
{
	return g->target == ADVISE_STREAM || (g->target == ADVISE_LAYERS &&
	    g->kind != ADVISE_LAYER);
}

static size_t
unit_size(const struct advise_group *g, double seconds)
{
	double MiB = seconds / UNIT_COST_S;
	size_t unit = UNIT_LEAST;

	if (!advise_is_stream(g->target))
		return UNIT_LEAST;
	if (is_joint(g) && g->plain_B <= WHOLE_MOST &&
	    (double)g->plain_B <= MiB * (1 << 20) * 0.7)
		return (size_t)g->plain_B;
	while (unit < UNIT_MOST && (double)unit * 2 <= MiB * (1 << 20) / 6)
		unit *= 2;
	return unit;
}

static unsigned
stratum_of(size_t unit, size_t len)
{
	unsigned i = 0;

	while (len < unit && i < FRAME_AGAIN - 1) {
		unit /= 4;
		i++;
	}
	return i;
}

/* Adds units of a span to a stratum.  Returns 0 or -ENOMEM. */
static int
add_units(struct frame_stratum *h, size_t span, uint64_t units, uint64_t size)
{
	void *spans = h->spans, *before = h->before;
	int rc = array_grow(&spans, h->count, &h->room, sizeof(*h->spans));

	h->spans = spans;
	if (rc == 0) {
		rc = array_grow(&before, h->count, &h->before_room,
		    sizeof(*h->before));
		h->before = before;
	}
	if (rc != 0)
		return rc;
	h->spans[h->count] = span;
	h->before[h->count++] = h->units;
	h->units += units;
	h->size += size;
	return 0;
}

static int
add_span(struct advise_frame *f, struct frame_span span)
{
	void *spans = f->spans;
	int rc = array_grow(&spans, f->count, &f->room, sizeof(*f->spans));

	if (rc != 0)
		return rc;
	f->spans = spans;
	f->spans[f->count++] = span;
	return 0;
}

/* Adds a span of what all files contribute to it. */
static int
add_joint_span(struct advise_group *g, enum frame_form form)
{
	struct frame_span s = { .form = form };
	bool failed = false;

	s.starts = sys_malloc(g->count * sizeof(*s.starts) + 1);
	if (s.starts == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < g->count && !failed; i++) {
		uint64_t share = advise_span_share(form, g->files[i]);

		s.starts[i] = s.len;
		s.len += share;
		failed = share == UINT64_MAX;
	}
	if (failed || add_span(g->frame, s) != 0) {
		sys_free(s.starts);
		return -ENOMEM;
	}
	return 0;
}

static int
add_file_spans(struct advise_group *g)
{
	bool packed = advise_is_stream(g->target) && (g->kind == ADVISE_GZIP ||
	    g->kind == ADVISE_LAYER);
	int rc = 0;

	for (size_t i = 0; i < g->count && rc == 0; i++) {
		struct advise_file *f = g->files[i];
		uint64_t len = packed ? advise_plain_size(f) : f->size;

		if (len == 0)
			g->unknown_B += f->size;
		else
			rc = add_span(g->frame, (struct frame_span){
			    .form = packed ? FRAME_UNPACKED : FRAME_FILE,
			    .file = f, .len = len });
	}
	return rc;
}

/* A file of a tar stream. */
struct member {
	const struct advise_file *file;
	uint64_t start, end;
};

static int
by_head(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->file->size != y->file->size)
		return x->file->size < y->file->size ? -1 : 1;
	if (x->file->head != y->file->head)
		return x->file->head < y->file->head ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Marks the whole units of which at least a quarter are files that the largest
 * window has seen before: of the same size, with the same beginning.  Returns
 * their number, or -ENOMEM.
 */
static int64_t
mark_again(const struct advise_group *g, const struct frame_span *s,
    uint64_t units, uint8_t *marks)
{
	struct member *all = sys_malloc(g->count * sizeof(*all) + 1);
	uint32_t *bytes = sys_calloc((size_t)units + 1, sizeof(*bytes));
	int64_t marked = 0;
	size_t n = 0;

	if (all == NULL || bytes == NULL) {
		sys_free(all);
		sys_free(bytes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->count; i++)
		if (g->files[i]->seen && g->files[i]->size >= AGAIN_LEAST)
			all[n++] = (struct member){ g->files[i], s->starts[i],
			    i + 1 < g->count ? s->starts[i + 1] : s->len };
	qsort(all, n, sizeof(*all), by_head);
	for (size_t i = 1; i < n; i++) {
		const struct member *m = &all[i];

		if (m->file->size != m[-1].file->size ||
		    m->file->head != m[-1].file->head ||
		    m->start - m[-1].start > BEFORE_MOST)
			continue;
		for (uint64_t at = m->start, next; at < m->end; at = next) {
			next = (at / g->unit_B + 1) * g->unit_B;
			next = next < m->end ? next : m->end;
			bytes[at / g->unit_B < units ? at / g->unit_B : units] +=
			    (uint32_t)(next - at);
		}
	}
	for (uint64_t u = 0; u < units; u++) {
		marks[u] = bytes[u] >= g->unit_B / 4;
		marked += marks[u];
	}
	sys_free(all);
	sys_free(bytes);
	return marked;
}

/*
 * Divides the whole units of the only span between the first stratum and that of
 * repeated files.  Returns 0 or -ENOMEM.
 */
static int
add_whole_units(struct advise_group *g, uint64_t units)
{
	struct advise_frame *f = g->frame;
	struct frame_stratum *h = f->strata;
	uint8_t *marks = sys_calloc((size_t)units, 1);
	int64_t again = marks == NULL ? -ENOMEM :
	    mark_again(g, &f->spans[0], units, marks);
	uint64_t n[2] = { 0, 0 };
	int rc = again < 0 ? (int)again : 0;

	if (again == 0)
		rc = add_units(&h[0], 0, units, units * g->unit_B);
	if (again <= 0)
		goto out;
	h[0].list = sys_malloc((size_t)units * sizeof(*h->list));
	h[FRAME_AGAIN].list = sys_malloc((size_t)again * sizeof(*h->list));
	if (h[0].list == NULL || h[FRAME_AGAIN].list == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	for (uint64_t u = 0; u < units; u++)
		h[marks[u] ? FRAME_AGAIN : 0].list[n[marks[u]]++] = u;
	if (n[0] > 0)
		rc = add_units(&h[0], 0, n[0], n[0] * g->unit_B);
	if (rc == 0)
		rc = add_units(&h[FRAME_AGAIN], 0, n[1], n[1] * g->unit_B);
out:
	sys_free(marks);
	return rc;
}

int
advise_group_frame(struct advise_group *g, double seconds, uint64_t seed)
{
	struct advise_frame *f = sys_calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return -ENOMEM;
	g->frame = f;
	f->seed = seed;
	while (advise_candidates(g->target)[g->names].name != NULL)
		g->names++;
	/* those that only differ in the block are the same */
	for (unsigned k = 1; g->block != 0 && k < g->names; k++)
		g->dropped[k] = advise_candidates(g->target)[k].block !=
		    advise_candidates(g->target)[0].block;
	if (is_joint(g))
		rc = add_joint_span(g, FRAME_TAR);
	else if (g->target == ADVISE_SQUASHFS) {
		rc = add_joint_span(g, FRAME_BLOCKS);
		if (rc == 0)
			rc = add_joint_span(g, FRAME_TAILS);
	} else
		rc = add_file_spans(g);
	for (size_t i = 0; i < f->count; i++)
		g->plain_B += f->spans[i].len;
	if (rc == 0 && g->plain_B == 0)
		rc = -ENODATA;
	g->unit_B = unit_size(g, seconds);
	for (size_t i = 0; i < f->count && rc == 0; i++) {
		uint64_t whole = f->spans[i].len / g->unit_B;
		size_t rest = (size_t)(f->spans[i].len % g->unit_B);

		if (whole > 0 && is_joint(g))
			rc = add_whole_units(g, whole);
		else if (whole > 0)
			rc = add_units(&f->strata[0], i, whole,
			    whole * g->unit_B);
		if (rc == 0 && rest > 0)
			rc = add_units(&f->strata[stratum_of(g->unit_B, rest)],
			    i, 1, rest);
	}
	if (rc != 0)
		return rc;
	f->unit = sys_malloc(BEFORE_MOST + g->unit_B);
	return f->unit == NULL ? -ENOMEM : 0;
}

void
advise_group_free(struct advise_group *g)
{
	struct advise_frame *f = g->frame;

	if (f != NULL) {
		for (size_t i = 0; i < f->count; i++)
			sys_free(f->spans[i].starts);
		for (size_t i = 0; i < FRAME_STRATA; i++) {
			sys_free(f->strata[i].spans);
			sys_free(f->strata[i].before);
			sys_free(f->strata[i].list);
		}
		sys_free(f->spans);
		sys_free(f->unit);
		sys_free(f);
	}
	sys_free(g->draws);
	sys_free(g->files);
	*g = (struct advise_group){ .count = 0 };
}

/*
 * Chooses the stratum of the next draw: two from each, then in proportion to
 * the sizes.  Returns FRAME_STRATA if all units have been drawn.
 */
static unsigned
next_stratum(const struct advise_frame *f)
{
	unsigned best = FRAME_STRATA;
	double most = -1;

	for (unsigned i = 0; i < FRAME_STRATA; i++) {
		const struct frame_stratum *h = &f->strata[i];
		double score = (double)h->size / ((double)h->drawn + 1);

		if (h->drawn == h->units)
			continue;
		if (h->drawn < 2)
			score += 1e20;
		if (score > most) {
			most = score;
			best = i;
		}
	}
	return best;
}

/* The n-th draw's place: its span, offset and size. */
struct place {
	const struct frame_span *span;
	uint64_t offset;
	size_t len, before;
};

static struct place
place_of(const struct advise_group *g, unsigned stratum, uint64_t number)
{
	const struct advise_frame *f = g->frame;
	const struct frame_stratum *h = &f->strata[stratum];
	uint64_t u = sample_unit(f->seed + stratum, h->units, number);
	size_t lo = 0, hi = h->count;
	struct place p = { .len = 0 };

	while (hi - lo > 1) {
		size_t middle = lo + (hi - lo) / 2;

		if (h->before[middle] <= u)
			lo = middle;
		else
			hi = middle;
	}
	p.span = &f->spans[h->spans[lo]];
	if (stratum == 0 || stratum == FRAME_AGAIN) {
		u = h->list != NULL ? h->list[u] : u - h->before[lo];
		p.offset = u * g->unit_B;
		p.len = g->unit_B;
	} else {
		p.offset = p.span->len / g->unit_B * g->unit_B;
		p.len = (size_t)(p.span->len - p.offset);
	}
	return p;
}

/*
 * Reads a unit, and `before` bytes in front of it, so that it begins at
 * BEFORE_MOST.  p->len and p->before become what could be read.  Returns 0 or
 * -errno.
 */
static int
read_place(struct advise_group *g, struct place *p, size_t before)
{
	uint64_t start = sys_now_ns();
	uint8_t *unit = g->frame->unit + BEFORE_MOST;
	ssize_t n = advise_span_read(g, p->span, p->offset, unit, p->len), m = 0;

	if (n > 0 && before > 0)
		m = advise_span_read(g, p->span, p->offset - before,
		    unit - before, before);
	g->read_s += 1e-9 * (double)(sys_now_ns() - start);
	if (n < 0 || m < 0)
		return n < 0 ? (int)n : (int)m;
	memmove(unit - m, unit - before, (size_t)m);
	p->len = (size_t)n;
	p->before = (size_t)m;
	g->read_B += p->len + p->before;
	return 0;
}

int
advise_group_draw(struct advise_group *g)
{
	unsigned stratum = next_stratum(g->frame);
	void *draws = g->draws;
	struct advise_draw d = { .stratum = stratum };
	struct place p;
	size_t len;
	int rc;

	if (stratum == FRAME_STRATA)
		return 0;
	d.number = g->frame->strata[stratum].drawn++;
	p = place_of(g, stratum, d.number);
	len = p.len;
	d.trial[0].part = p.len < p.span->len;
	d.trial[0].first = p.offset == 0;
	d.read_s = -advise_cpu_now(&d.trial[0]);
	rc = read_place(g, &p, 0);
	d.read_s += advise_cpu_now(&d.trial[0]);
	d.size = (double)p.len;
	if (rc == 0 && p.len < len)
		g->lost++;
	if (rc == 0 && p.len == 0)
		return 1;
	if (rc == 0)
		rc = advise_try(g->target, advise_candidates(g->target),
		    g->frame->unit + BEFORE_MOST, p.len, 0, &d.trial[0]);
	d.aux = (double)d.trial[0].size;
	if (rc == 0)
		rc = array_grow(&draws, g->draw_count, &g->draw_room,
		    sizeof(*g->draws));
	if (rc != 0)
		return rc;
	g->draws = draws;
	g->draws[g->draw_count++] = d;
	return 1;
}

/* What a candidate took on all draws, and the others on the same ones. */
static void
sums_of(const struct advise_group *g, unsigned a, unsigned b,
    struct advise_trial *sum_a, struct advise_trial *sum_b)
{
	*sum_a = *sum_b = (struct advise_trial){ .size = 0 };
	for (size_t i = 0; i < g->tried; i++) {
		const struct advise_draw *d = &g->draws[i];

		if (!d->tried[a] || !d->tried[b] || !d->trial[a].timed ||
		    !d->trial[b].timed)
			continue;
		sum_a->size += d->trial[a].size;
		sum_a->cpu_s += d->trial[a].cpu_s;
		sum_a->back_cpu_s += d->trial[a].back_cpu_s;
		sum_b->size += d->trial[b].size;
		sum_b->cpu_s += d->trial[b].cpu_s;
		sum_b->back_cpu_s += d->trial[b].back_cpu_s;
	}
}

/*
 * Drops candidates to which another one of the same format, which the same
 * programs read, is preferable in every respect.
 */
static void
drop_worse(struct advise_group *g)
{
	const struct advise_candidate *c = advise_candidates(g->target);

	for (unsigned i = 1; c[i].name != NULL; i++)
		for (unsigned j = 0; c[j].name != NULL; j++) {
			struct advise_trial a, b;

			if (i == j || g->dropped[i] || g->dropped[j] ||
			    strcmp(c[i].format, c[j].format) != 0 ||
			    advise_in_parts(g->target, &c[i]) !=
			    advise_in_parts(g->target, &c[j]))
				continue;
			sums_of(g, i, j, &a, &b);
			if (b.size > 0 && b.size <= a.size &&
			    b.cpu_s < a.cpu_s * 0.95 &&
			    b.back_cpu_s < a.back_cpu_s * 1.1)
				g->dropped[i] = true;
		}
}

/* Tries a candidate on a draw that has been read. */
static int
try_one(const struct advise_group *g, struct advise_draw *d,
    const struct place *p, unsigned k)
{
	struct advise_candidate c = advise_candidates(g->target)[k];
	struct advise_trial *t = &d->trial[k];
	size_t before = advise_history(&c, p->offset, p->len);
	int rc;

	if (g->block != 0)
		c.block = g->block;

	if (before > p->before)
		before = p->before;
	t->part = p->len < p->span->len;
	t->first = p->offset == 0;
	t->io_s = k == 0 || d->trial[0].io_s == 0 ? NAN : d->trial[0].io_s;
	t->back_io_s = d->trial[0].back_io_s;
	rc = advise_try(g->target, &c, g->frame->unit + BEFORE_MOST, p->len,
	    before, t);
	d->tried[k] = rc == 0;
	return rc;
}

/* The slow candidates of one draw, which threads take one after another. */
struct slow_trials {
	struct advise_group *group;
	struct advise_draw *draw;
	const struct place *place;
	atomic_uint next;
	atomic_int rc;
};

static void
try_next(void *arg, unsigned thread)
{
	struct slow_trials *s = arg;
	const struct advise_candidate *c =
	    advise_candidates(s->group->target);
	unsigned k;

	(void)thread;
	while ((k = atomic_fetch_add(&s->next, 1)) < ADVISE_CANDIDATES) {
		int rc = 0;

		if (k < s->group->names && c[k].like != 0 &&
		    !s->group->dropped[k])
			rc = try_one(s->group, s->draw, s->place, k);
		if (rc != 0)
			atomic_store(&s->rc, rc);
	}
}

/* Times the first candidate once more: how much do such times vary? */
static int
try_clock(struct advise_group *g, struct advise_draw *d, const struct place *p)
{
	bool only = p->len >= g->plain_B;
	int rc = 0;

	while (rc == 0 && g->clock_pairs < (only ? CLOCK_LEAST : CLOCK_MOST)) {
		double first = d->trial[0].cpu_s, second;

		rc = try_one(g, d, p, 0);
		g->fast_s += d->trial[0].spent_s;
		second = d->trial[0].cpu_s;
		if (rc == 0 && first > 0 && second > 0) {
			g->clock_squares += log(second / first) *
			    log(second / first);
			d->trial[0].cpu_s = (first + second) / 2;
		}
		g->clock_pairs++;
		if (!only)
			break;
	}
	return rc;
}

static int
try_slow(struct advise_group *g, struct advise_draw *d, const struct place *p)
{
	struct slow_trials s = { .group = g, .draw = d, .place = p };
	/* what runs at the same time shares caches, and takes longer */
	bool beside = p->len <= UNIT_MOST && g->threads > 1 &&
	    g->slow_tried >= SLOW_TIMED;

	for (unsigned k = 0; k < g->names; k++) {
		d->trial[k].timed |= !beside;
		d->trial[k].beside = beside;
	}
	parallel_run(beside ? g->threads : 1, try_next, &s);
	for (unsigned k = 0; k < g->names; k++)
		if (advise_candidates(g->target)[k].like != 0)
			g->slow_s += d->trial[k].spent_s;
	return atomic_load(&s.rc);
}

/* Whether any slow candidate is left. */
static bool
has_slow(const struct advise_group *g)
{
	const struct advise_candidate *c = advise_candidates(g->target);

	for (unsigned k = 0; k < g->names; k++)
		if (c[k].like != 0 && !g->dropped[k])
			return true;
	return false;
}

bool
advise_group_slow_due(const struct advise_group *g)
{
	return g->slow_tried < g->tried && has_slow(g) &&
	    (g->tried == g->draw_count ||
	    g->slow_s <= (g->tried < FAST_ENOUGH ? SLOW_SHARE :
	    SLOW_SHARE_THEN) * g->fast_s);
}

int
advise_group_try(struct advise_group *g)
{
	const struct advise_candidate *c = advise_candidates(g->target);
	bool stream = advise_is_stream(g->target);
	bool slow = advise_group_slow_due(g);
	size_t n = slow ? g->slow_tried : g->tried, before = 0;
	struct advise_draw *d;
	struct place p;
	bool lost;
	int rc;

	if (!slow && n == g->draw_count)
		return 0;
	d = &g->draws[n];
	p = place_of(g, d->stratum, d->number);
	for (unsigned k = 0; stream && k < g->names; k++)
		if ((c[k].like != 0) == slow &&
		    advise_reach(&c[k], p.offset) > before)
			before = advise_reach(&c[k], p.offset);
	rc = read_place(g, &p, before);
	/* what can no longer be read as it was drawn is not tried */
	lost = rc == 0 && (double)p.len != d->size;
	g->lost += lost;
	for (unsigned k = 0; k < g->names && rc == 0 && !slow && !lost; k++)
		if (c[k].like == 0 && !g->dropped[k]) {
			d->trial[k].timed = true;
			rc = try_one(g, d, &p, k);
			g->fast_s += d->trial[k].spent_s;
		}
	if (rc == 0 && slow && !lost)
		rc = try_slow(g, d, &p);
	else if (rc == 0 && !lost)
		rc = try_clock(g, d, &p);
	if (rc != 0)
		return rc;
	*(slow ? &g->slow_tried : &g->tried) += 1;
	if (g->tried >= DROP_AFTER && g->slow_tried >= DROP_AFTER)
		drop_worse(g);
	return 1;
}

/* What is estimated of a candidate. */
enum quantity { SIZE, CPU, BACK };

/*
 * pzc and sqpack read the files themselves, each of which takes its time; a tar
 * stream is read by tar.
 */
static double
value_of(const struct advise_group *g, const struct advise_draw *d, unsigned k,
    enum quantity q)
{
	const struct advise_trial *t = &d->trial[k];
	bool reads = g->target == ADVISE_FILES ||
	    g->target == ADVISE_SQUASHFS || g->target == ADVISE_SNAP;

	return q == SIZE ? (double)t->size : q == BACK ? t->back_cpu_s :
	    t->cpu_s + (reads ? d->read_s : 0);
}

/*
 * A draw as the estimate sees it.  The auxiliary of a size is what zstd -1 made
 * of the unit, that of a CPU time the unit's size; for the slow candidates, it
 * is the same quantity of the one that they are like.
 */
static struct sample_draw
draw_for(const struct advise_group *g, const struct advise_draw *d, unsigned k,
    enum quantity q, bool drawn_only)
{
	unsigned like = advise_candidates(g->target)[k].like;

	return (struct sample_draw){ .stratum = d->stratum, .size = d->size,
	    .aux = like != 0 ? value_of(g, d, like, q) : q == SIZE ?
	    d->aux : d->size, .both = drawn_only || (d->tried[k] &&
	    (q == SIZE || d->trial[k].timed)), .y = value_of(g, d, k, q) };
}

static int
estimate(const struct advise_group *g, unsigned k, enum quantity q,
    struct sample_total *out)
{
	struct sample_stratum strata[FRAME_STRATA];
	struct sample_draw *draws = sys_malloc((g->draw_count + 1) *
	    sizeof(*draws));
	unsigned like = advise_candidates(g->target)[k].like;
	/* as yet, only the auxiliary was tried: it is a candidate, too */
	bool drawn_only = k == 0 && g->tried == 0;
	size_t n = 0;
	int rc;

	if (draws == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < FRAME_STRATA; i++)
		strata[i] = (struct sample_stratum){ g->frame->strata[i].units,
		    (double)g->frame->strata[i].size };
	for (size_t i = 0; i < g->draw_count; i++)
		if (like == 0 || g->draws[i].tried[like])
			draws[n++] = draw_for(g, &g->draws[i], k, q,
			    drawn_only);
	rc = sample_estimate(strata, FRAME_STRATA, draws, n, 0.95, out);
	sys_free(draws);
	return rc;
}

/*
 * Adds what starting takes, and widens the interval of a sum of n times by what
 * one of them, and the run that it is about, vary: no two are the same.
 */
static void
complete_time(const struct advise_group *g, double start_s,
    struct sample_total *s)
{
	double pairs = g->clock_pairs, wide;

	s->value += start_s;
	s->lo += start_s;
	s->hi += start_s;
	if (pairs < 1 || s->n == 0)
		return;
	/* the difference of two has twice the variance of one */
	wide = sample_student(0.95, pairs) * sqrt(g->clock_squares / pairs / 2) *
	    s->value * sqrt(1 + 1 / (double)s->n);
	s->lo = fmax(0, s->value - hypot(s->value - s->lo, wide));
	s->hi = s->value + hypot(s->hi - s->value, wide);
}

int
advise_group_estimate(const struct advise_group *g, unsigned k,
    struct advise_estimate *e)
{
	bool drawn_only = k == 0 && g->tried == 0;
	double memory;
	int rc;

	*e = (struct advise_estimate){ .complete = g->lost == 0 };
	for (unsigned i = 0; i < FRAME_STRATA; i++)
		e->complete &= g->frame->strata[i].units ==
		    g->frame->strata[i].drawn;
	for (size_t i = 0; i < g->draw_count; i++)
		e->complete &= g->draws[i].tried[k] || drawn_only;
	rc = estimate(g, k, SIZE, &e->size);
	if (rc == 0)
		rc = estimate(g, k, CPU, &e->cpu);
	if (rc == 0)
		rc = estimate(g, k, BACK, &e->back_cpu);
	if (rc != 0)
		return rc;
	/* trials use memory that is no longer new */
	memory = is_joint(g) ? advise_memory(&advise_candidates(g->target)[k],
	    (double)g->plain_B, e->size.value) : 0;
	complete_time(g, g->start_s + g->touch_s * memory, &e->cpu);
	complete_time(g, g->start_s + g->touch_s * fmin(memory,
	    (double)g->plain_B), &e->back_cpu);
	e->units = e->size.n;
	return 0;
}
