/*
 * advise_print.c - the advice as a table for people, and as rows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_tool.h"

#include "base/sys.h"
#include "base/table.h"
#include "base/utc.h"
#include "measure/provenance.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROPOSALS = 6, OTHERS = 3, NAME_B = 200 };

static const char *const objectives[] = { "size", "total-time", "cold-read" };
static const char *const targets[ADVISE_TARGETS] = {
	[ADVISE_FILES] = "files", [ADVISE_STREAM] = "tar",
	[ADVISE_SQUASHFS] = "image", [ADVISE_BTRFS] = "btrfs",
	[ADVISE_ZFS] = "zfs", [ADVISE_SNAP] = "snap",
	[ADVISE_LAYERS] = "layers", [ADVISE_MAIL_STORE] = "mail",
};

/* Formats a size with three digits: "9.81 GB". */
static const char *
size_text(char text[16], double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB",
	    "PB" };
	unsigned u = 0;

	while (fabs(bytes) >= 999.5 && u < 5) {
		bytes /= 1000;
		u++;
	}
	snprintf(text, 16, "%.*f %s", u == 0 || fabs(bytes) >= 99.95 ? 0 :
	    fabs(bytes) >= 9.995 ? 1 : 2, bytes, units[u]);
	return text;
}

static const char *
time_text(char text[16], double s)
{
	if (s < 100)
		snprintf(text, 16, s < 1 ? "%.1f s" : "%.0f s", s);
	else if (s < 6000)
		snprintf(text, 16, "%.0f min", s / 60);
	else
		snprintf(text, 16, "%.0f h", s / 3600);
	return text;
}

/* The number of files that a group is about: of images, not what is in them. */
static size_t
files_of(const struct advise_group *g)
{
	return g->images > 0 ? g->images : g->count + g->twins;
}

/* Half the interval, in percent of the value. */
static double
half_pct(const struct advise_case *c, unsigned k)
{
	const struct sample_total *s = &c->estimate[k].size;

	return s->value > 0 ? 50 * (s->hi - s->lo) / s->value : 0;
}

/* Replaces control bytes. */
static void
printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* What a case is about: "/var/log, 214 plain logs". */
static void
name_of(const struct advise_case *c, char text[NAME_B])
{
	const struct advise_group *g = &c->group;
	const char *words = advise_kind_words(g->kind);
	size_t count = files_of(g);

	/* one of them is a word without the last letter, the plural's */
	snprintf(text, NAME_B, "%s, %zu %.*s", c->place, count,
	    (int)strlen(words) - (count == 1), words);
	printable(text);
}

/* What fits of a name in a column: the end, which says more, after dots. */
static const char *
fitting(char text[NAME_B], size_t width)
{
	size_t n = strlen(text);

	if (n <= width)
		return text;
	text += n - width + 3;
	/* not from the middle of a character on */
	while (((unsigned char)*text & 0xc0) == 0x80)
		text++;
	return memcpy(text - 3, "...", 3);
}

/* Whether a proposal is a setting of something else, which apply does not do. */
static bool
is_setting(const struct advise_case *c)
{
	enum advise_target target = c->group.target;

	return target == ADVISE_BTRFS || target == ADVISE_ZFS ||
	    target == ADVISE_MAIL_STORE || (target == ADVISE_LAYERS &&
	    c->group.kind == ADVISE_LAYER);
}

static void
print_proposal(const struct advise_tool *t, const struct advise_case *c)
{
	char name[NAME_B], now[16], then[16], time[16];
	const struct advise_candidate *k =
	    &advise_candidates(c->group.target)[c->pick];

	(void)t;
	name_of(c, name);
	printf("%2u  %-34s %8s  %8s  %-7s %-10s %s\n", c->number,
	    fitting(name, 34), size_text(now, (double)c->group.now_B),
	    size_text(then, advise_size(c, c->pick)), time_text(time,
	    c->time_s), k->name, is_setting(c) ? "explain" : "apply");
}

/*
 * Reads earlier rows: the total size of what they are about, and whether they
 * propose what each case is about.  Returns 0, -EINVAL or -errno.
 */
static int
read_earlier(const struct advise_tool *t, double *total, bool *proposed)
{
	struct table_reader *r = NULL;
	char about[512], last[512] = "";
	int rc = table_open(&r, t->o.since);
	int place = -1, kind = -1, now = -1, number = -1;

	if (rc == 0) {
		place = table_column(r, "place");
		kind = table_column(r, "kind");
		now = table_column(r, "now_B");
		number = table_column(r, "number");
		if (place < 0 || kind < 0 || now < 0 || number < 0)
			rc = -EINVAL;
	}
	while (rc == 0 && (rc = table_next(r)) == 1) {
		const char *p = table_value(r, place);

		rc = 0;
		/* the rows of a case follow each other */
		snprintf(about, sizeof(about), "%s %s %s", table_value(r, kind),
		    table_value(r, now), p);
		if (strcmp(about, last) == 0)
			continue;
		strcpy(last, about);
		*total += strtod(table_value(r, now), NULL);
		for (size_t i = 0; i < t->count; i++)
			proposed[i] |= *table_value(r, number) != '\0' &&
			    strcmp(p, t->cases[i].place) == 0 &&
			    strcmp(table_value(r, kind), advise_kind_name(
			    t->cases[i].group.kind)) == 0;
	}
	table_reader_free(r);
	return rc;
}

static void
print_since(struct advise_tool *t)
{
	bool *proposed = sys_calloc(t->count + 1, sizeof(*proposed));
	double grown = 0;
	unsigned fresh = 0;
	char text[16], name[NAME_B];
	int rc = proposed == NULL ? -ENOMEM :
	    read_earlier(t, &grown, proposed);

	if (rc != 0) {
		msg_error(&t->msg, "%s: %s", t->o.since, rc == -EINVAL ?
		    "these are not rows of coldpress advise" : strerror(-rc));
		sys_free(proposed);
		return;
	}
	grown = -grown;
	for (size_t i = 0; i < t->count; i++) {
		grown += (double)t->cases[i].group.now_B;
		fresh += t->cases[i].number > 0 && !proposed[i];
	}
	sys_free(proposed);
	snprintf(name, sizeof(name), "%s", t->o.since);
	printf("since %s: %s%s, %u new proposal%s\n", fitting(name, 40),
	    grown < 0 ? "" : "+", size_text(text, grown), fresh,
	    fresh == 1 ? "" : "s");
}

static void
print_others(const struct advise_tool *t)
{
	char name[NAME_B], size[16];
	unsigned shown = 0, more = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct advise_case *c = &t->cases[i];

		if (c->why_not == NULL)
			continue;
		if (shown++ >= OTHERS) {
			more++;
			continue;
		}
		name_of(c, name);
		printf("%s %s, %s: %s", shown == 1 ? "not worth it:" :
		    "             ", fitting(name, 40),
		    size_text(size, (double)c->group.now_B), c->why_not);
		if (c->known[c->pick] && c->group.now_B > 0 &&
		    fabs(c->saves_B) > 0.0005 * (double)c->group.now_B)
			printf(" (%+.1f %%)", -100 * c->saves_B /
			    (double)c->group.now_B);
		putchar('\n');
	}
	if (more > 0)
		printf("              and %u more in the rows\n", more);
}

/* Whether there was too little time to say whether something pays. */
static bool
undecided(const struct advise_tool *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->cases[i].why_not != NULL &&
		    strcmp(t->cases[i].why_not, ADVISE_UNKNOWN) == 0)
			return true;
	return false;
}

/* The least certain proposal says how certain all are. */
static void
print_confidence(const struct advise_tool *t)
{
	double worst = 0;
	size_t units = 0;
	unsigned n = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct advise_case *c = &t->cases[i];

		if (c->number == 0)
			continue;
		worst = fmax(worst, half_pct(c, c->pick));
		units += c->estimate[c->pick].units;
		n++;
	}
	if (n == 0)
		return;
	if (worst < 0.005)
		printf("confidence: sizes exact, everything was compressed");
	else
		printf("confidence: sizes within %.1f %% (95 %%), from %zu "
		    "units", worst, units);
	printf("; times are of %u cores like these\n", t->o.cores);
}

/* Says what could not be read while it was measured, and why, of the first. */
static void
print_unread(const struct advise_tool *t)
{
	const struct advise_file *first = NULL;
	size_t n = 0;
	char name[NAME_B];

	for (size_t i = 0; i < t->census.count; i++)
		if (t->census.files[i].err != 0 && n++ == 0)
			first = &t->census.files[i];
	if (n == 0)
		return;
	snprintf(name, sizeof(name), "%s", first->path);
	printable(name);
	printf("not read: %s: %s", fitting(name, 40), first->err == ENODATA ?
	    "has become shorter" : strerror(first->err));
	if (n > 1)
		printf(", and %zu more", n - 1);
	puts("; the sizes are estimated without");
}

/*
 * Says what the proposals would spend their time on: "the cores", or which of
 * them on what.
 */
static void
print_bottleneck(const struct advise_tool *t)
{
	static const char *const parts[] = { "cores", "disk", "link" };
	unsigned of[3] = { 0 }, named = 0;

	for (size_t i = 0; i < t->count; i++)
		for (int k = 0; k < 3; k++)
			of[k] += t->cases[i].number > 0 &&
			    strcmp(t->cases[i].bound, parts[k]) == 0;
	for (int k = 0; k < 3; k++) {
		const char *before = " ";

		if (of[k] == 0)
			continue;
		printf("%s the %s", named++ == 0 ? "bottleneck:" : ";",
		    parts[k]);
		if (of[k] == of[0] + of[1] + of[2])
			break;
		printf(" for");
		for (size_t i = 0; i < t->count; i++)
			if (t->cases[i].number > 0 &&
			    strcmp(t->cases[i].bound, parts[k]) == 0) {
				printf("%s%u", before, t->cases[i].number);
				before = ", ";
			}
	}
	if (named > 0)
		putchar('\n');
}

int
advise_print_table(struct advise_tool *t)
{
	uint64_t read = 0;
	unsigned shown = 0, more = 0;
	char a[16], b[16];

	for (size_t i = 0; i < t->count; i++)
		read += t->cases[i].group.read_B;
	printf("coldpress %s: sampled %s of %s in %.0f s; nothing was "
	    "changed\n", COLDPRESS_VERSION, size_text(a, (double)(read <
	    t->census.bytes ? read : t->census.bytes)), size_text(b,
	    (double)t->census.bytes), t->took_s);
	print_bottleneck(t);
	for (size_t i = 0; i < t->count; i++) {
		const struct advise_case *c = &t->cases[i];

		if (c->number == 0)
			continue;
		if (shown++ == 0)
			printf(" #  %-34s %8s  %8s  %-7s %-10s %s\n", "what",
			    "now", "could be", "takes", "as",
			    "coldpress ... #");
		if (shown <= PROPOSALS)
			print_proposal(t, c);
		else
			more++;
	}
	if (more > 0)
		printf("    and %u more in the rows\n", more);
	if (shown == 0)
		puts(undecided(t) ? "nothing is known to pay; --budget "
		    "allows more time" : "nothing would pay");
	print_others(t);
	print_confidence(t);
	if (t->census.left_out > 0)
		printf("not entered for lack of time: %" PRIu64 " directories; "
		    "the sizes are of the rest\n", t->census.left_out);
	if (t->census.unreadable > 0)
		printf("not readable: %" PRIu64 " files and directories\n",
		    t->census.unreadable);
	print_unread(t);
	if (t->o.since != NULL)
		print_since(t);
	return 0;
}

static const char *const columns[] = { "series", "number", "place", "kind",
    "target", "files", "now_B", "plain_B", "unknown_B", "unread", "newest",
    "candidate", "format", "level", "block_B", "size_B", "size_lo_B",
    "size_hi_B", "meta_B", "cpu_s", "cpu_lo_s", "cpu_hi_s", "back_cpu_s", "complete",
    "units", "drawn", "unit_B", "read_Bps", "write_s", "read_s", "bound",
    "readable", "pick", "objective", "link_Bps", "reads", "touched", "cores", "hot_min",
    "why_not" };

/* Returns how many files of a group could not be read while it was measured. */
static size_t
unread_of(const struct advise_group *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		n += g->files[i]->err != 0;
	return n;
}

/* Writes a row; k is a candidate, or -1 for a case without any. */
static int
put_row(struct table *t, const struct advise_tool *tool, const char *series,
    const struct advise_case *c, int k)
{
	const struct advise_group *g = &c->group;
	const struct advise_candidate *of = advise_candidates(g->target);
	char date[UTC_B];
	const char *bound = NULL;
	double write_s = NAN;

	table_text(t, series);
	table_known(t, c->number > 0 ? (int64_t)c->number : -1);
	table_text(t, c->place);
	table_text(t, advise_kind_name(g->kind));
	table_text(t, targets[g->target]);
	table_int(t, (int64_t)files_of(g));
	table_int(t, (int64_t)g->now_B);
	table_known(t, g->frame == NULL ? -1 : (int64_t)g->plain_B);
	table_int(t, (int64_t)g->unknown_B);
	table_int(t, (int64_t)unread_of(g));
	table_text(t, utc_rfc3339(date, g->newest, 0) ? date : NULL);
	if (k < 0) {
		for (int i = 0; i < 21; i++)
			table_none(t);
	} else {
		const struct advise_estimate *e = &c->estimate[k];
		double other = c->meta_B + (double)g->unknown_B;

		write_s = advise_write_time(tool, c, (unsigned)k, &bound);
		table_text(t, of[k].name);
		table_text(t, of[k].format);
		table_known(t, of[k].level > 0 ? of[k].level : -1);
		table_known(t, g->block > 0 ? (int64_t)g->block :
		    of[k].block > 0 ? (int64_t)of[k].block : -1);
		table_real(t, e->size.value + other, 0);
		table_real(t, e->size.lo + other, 0);
		table_real(t, e->size.hi + other, 0);
		table_real(t, c->meta_B, 0);
		table_real(t, e->cpu.value, 6);
		table_real(t, e->cpu.lo, 6);
		table_real(t, e->cpu.hi, 6);
		table_real(t, e->back_cpu.value, 6);
		table_bool(t, e->complete);
		table_int(t, (int64_t)e->units);
		table_int(t, (int64_t)g->draw_count);
		table_int(t, (int64_t)g->unit_B);
		table_real(t, g->read_s > 0 ? (double)g->read_B / g->read_s :
		    NAN, 0);
		table_real(t, write_s, 6);
		table_real(t, advise_read_time(tool, c, (unsigned)k), 6);
		table_text(t, bound);
		table_bool(t, c->read[k]);
	}
	table_bool(t, k >= 0 && (unsigned)k == c->pick && c->why_not == NULL);
	table_text(t, objectives[tool->o.objective]);
	table_real(t, tool->o.link_Bps > 0 ? tool->o.link_Bps : NAN, 0);
	table_int(t, (int64_t)tool->o.reads);
	table_int(t, (int64_t)tool->o.touched);
	table_int(t, tool->o.cores);
	table_int(t, tool->o.hot_min);
	table_text(t, c->why_not);
	return table_end(t);
}

static int
put_rows(struct table *t, struct advise_tool *tool)
{
	char series[PROVENANCE_SERIES_B];
	const struct provenance from = { series, "coldpress-advise", NULL, 0,
	    tool->o.argc, tool->o.argv };
	int rc;

	provenance_series(series);
	rc = provenance_write(t, &from);
	for (size_t i = 0; i < tool->count && rc == 0; i++) {
		const struct advise_case *c = &tool->cases[i];
		bool any = false;

		for (int k = 0; k < ADVISE_CANDIDATES && rc == 0; k++)
			if (c->known[k]) {
				any = true;
				rc = put_row(t, tool, series, c, k);
			}
		if (!any && rc == 0)
			rc = put_row(t, tool, series, c, -1);
	}
	return rc;
}

int
advise_print_rows(struct advise_tool *t)
{
	const size_t count = sizeof(columns) / sizeof(columns[0]);
	struct table *table;
	int rc, end;

	if (t->o.rows != NULL) {
		rc = table_append(&table, t->o.rows, TABLE_CSV, columns, count);
		if (rc == 0) {
			rc = put_rows(table, t);
			end = table_close(table);
			rc = rc != 0 ? rc : end;
		}
		if (rc != 0) {
			msg_error(&t->msg, "%s: %s", t->o.rows, rc == -EEXIST ?
			    "has rows of another kind" : strerror(-rc));
			return rc;
		}
	}
	if (!t->o.json)
		return 0;
	rc = table_to_fd(&table, STDOUT_FILENO, TABLE_JSON, columns, count);
	if (rc != 0)
		return rc;
	rc = put_rows(table, t);
	end = table_close(table);
	return rc != 0 ? rc : end;
}
