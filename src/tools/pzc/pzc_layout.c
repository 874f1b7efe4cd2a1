/*
 * pzc_layout.c - formatting the output of -l as a table or as JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_list.h"

#include "base/table.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const columns[] = {
	"name", "method", "check", "frames", "compressed_B", "uncompressed_B",
	"exact", "ratio", "check_value", "mtime", "tested"
};

/* Formatting numbers */

struct word {
	char s[32];
};

/* A trailing + means "or more". */
static struct word
count_word(bool known, uint64_t n, bool more)
{
	struct word w = { "?" };

	if (known)
		snprintf(w.s, sizeof(w.s), "%" PRIu64 "%s", n,
		    more ? "+" : "");
	return w;
}

static struct word
ratio_word(bool known, uint64_t packed, uint64_t size, bool more)
{
	struct word w = { "?" };

	if (known && packed > 0)
		snprintf(w.s, sizeof(w.s), "%.3f%s",
		    (double)size / (double)packed, more ? "+" : "");
	return w;
}

static struct word
value_word(const struct codec_listing *l)
{
	struct word w = { "?" };

	if (l->has_value)
		snprintf(w.s, sizeof(w.s), "%08" PRIx32, l->value);
	return w;
}

static struct word
time_word(int64_t mtime)
{
	struct word w = { "?" };
	time_t t = (time_t)mtime;
	struct tm tm;

	if (mtime != 0 && localtime_r(&t, &tm) != NULL)
		strftime(w.s, sizeof(w.s), "%Y-%m-%d %H:%M", &tm);
	return w;
}

void
pzc_put_name(const char *name)
{
	char safe[UTF8_SAFE];

	while (*name != '\0')
		fwrite(safe, 1, utf8_safe(&name, safe), stdout);
	putchar('\n');
}

static const char *
name_of(const struct pzc *p, const struct pzc_entry *e)
{
	if (p->restore_name && e->stored.name[0] != '\0')
		return e->stored.name;
	return e->src->is_stdin ? "-" : e->src->path;
}

static const char *
check_of(const struct pzc_entry *e)
{
	return e->l.check != NULL ? e->l.check : e->codec->check;
}

/* Lines */

static void
print_head(const struct pzc *p)
{
	if (p->msg.quiet || p->totals.files > 0)
		return;
	if (p->msg.verbose > 0)
		printf("%6s  %-8s  %-16s  ", "frames", "value", "date");
	printf("%-8s  %-11s  %14s  %15s  %8s  %s\n", "method", "check",
	    "compressed", "uncompressed", "ratio", "name");
}

void
pzc_list_line(struct pzc *p, const struct pzc_entry *e)
{
	const struct codec_listing *l = &e->l;
	const char *check = check_of(e);
	bool more = !l->exact;

	print_head(p);

	if (p->msg.verbose > 0)
		printf("%6s  %-8s  %-16s  ",
		    count_word(l->frames > 0, l->frames, false).s,
		    value_word(l).s, time_word(e->mtime).s);
	printf("%-8s  %-11s  %14s  %15s  %8s  ", e->codec->name,
	    check != NULL ? check : "?",
	    count_word(e->has_packed, e->packed, false).s,
	    count_word(l->has_size, l->size, more).s,
	    ratio_word(e->has_packed && l->has_size, e->packed, l->size,
	    more).s);
	pzc_put_name(name_of(p, e));
}

int
pzc_list_json(const struct pzc *p, const struct pzc_entry *e)
{
	const struct codec_listing *l = &e->l;
	struct table *t = NULL;
	int rc = table_to_fd(&t, STDOUT_FILENO, TABLE_JSON, columns,
	    sizeof(columns) / sizeof(columns[0]));

	if (rc != 0)
		return rc;
	table_text(t, name_of(p, e));
	table_text(t, e->codec->name);
	table_text(t, check_of(e));
	l->frames > 0 ? table_int(t, (int64_t)l->frames) : table_none(t);
	e->has_packed ? table_int(t, (int64_t)e->packed) : table_none(t);
	l->has_size ? table_int(t, (int64_t)l->size) : table_none(t);
	l->has_size ? table_bool(t, l->exact) : table_none(t);
	e->has_packed && l->has_size && e->packed > 0 ?
	    table_real(t, (double)l->size / (double)e->packed, 4) :
	    table_none(t);
	table_text(t, l->has_value ? value_word(l).s : NULL);
	e->mtime != 0 ? table_int(t, e->mtime) : table_none(t);
	table_bool(t, e->tested);
	rc = table_end(t);
	table_close(t);
	return rc;
}

void
pzc_list_sum(const struct pzc *p)
{
	const struct pzc_totals *t = &p->totals;

	if (t->files < 2 || p->msg.quiet)
		return;
	if (p->msg.verbose > 0)
		printf("%6s  %-8s  %-16s  ", "", "", "");
	printf("%-8s  %-11s  %14s  %15s  %8s  (%" PRIu64 " files)\n", "", "",
	    count_word(true, t->packed, t->packed_less).s,
	    count_word(true, t->size, t->size_less).s,
	    ratio_word(!t->packed_less, t->packed, t->size, t->size_less).s,
	    t->files);
}

