/*
 * pzc_list.c - listing compressed files, as a table or as JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/table.h"
#include "base/utf8.h"
#include "format/skippable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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

void
pzc_put_text(const char *name)
{
	char safe[UTF8_SAFE];

	while (*name != '\0')
		fwrite(safe, 1, utf8_safe(&name, safe), stdout);
}

void
pzc_put_name(const char *name)
{
	pzc_put_text(name);
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

void
pzc_list_line(struct pzc *p, const struct pzc_entry *e)
{
	const struct codec_listing *l = &e->l;
	const char *check = check_of(e);
	bool more = !l->exact;
	char date[32] = "?";
	time_t t = (time_t)e->mtime;
	struct tm tm;

	if (!p->msg.quiet && p->totals.files == 0) {
		if (p->msg.verbose > 0)
			printf("%6s  %-8s  %-16s  ", "frames", "value", "date");
		printf("%-8s  %-11s  %14s  %15s  %8s  %s\n", "method", "check",
		    "compressed", "uncompressed", "ratio", "name");
	}
	if (e->mtime != 0 && localtime_r(&t, &tm) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
	if (p->msg.verbose > 0)
		printf("%6s  %-8s  %-16s  ",
		    count_word(l->frames > 0, l->frames, false).s,
		    value_word(l).s, date);
	printf("%-8s  %-11s  %14s  %15s  %8s  ", e->codec->name,
	    check != NULL ? check : "?",
	    count_word(e->has_packed, e->packed, false).s,
	    count_word(l->has_size, l->size, more).s,
	    ratio_word(e->has_packed && l->has_size, e->packed, l->size,
	    more).s);
	pzc_put_name(name_of(p, e));
}

static int
print_json(const struct pzc *p, const struct pzc_entry *e)
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

/* Determines the format, and reads the header fields other than the size. */
static int
read_head(struct pzc *p, struct pzc_entry *e)
{
	const uint8_t *head = NULL;
	ssize_t n = skippable_shorten(&e->in);

	if (n == 0)
		n = input_peek(&e->in, INPUT_PEEK, &head);
	if (n < 0) {
		pzc_say(p, ON_ERROR, e->src->path, strerror((int)-n));
		return -1;
	}
	e->codec = pzc_codec_of(p, head, (size_t)n < CODEC_MAGIC_MAX ?
	    (size_t)n : CODEC_MAGIC_MAX);
	if (e->codec == NULL) {
		pzc_say(p, n == 0 ? ON_EMPTY : ON_NO_FORMAT, e->src->path,
		    NULL);
		return -1;
	}
	if (e->codec->stored != NULL)
		e->codec->stored(head, (size_t)n, &e->stored);
	e->mtime = e->stored.mtime != 0 ? e->stored.mtime :
	    S_ISREG(e->src->st.st_mode) ? e->src->st.st_mtime : 0;
	return 0;
}

/*
 * Finds the sizes: from the file's own fields or, for -lt, by decompressing.
 */
static int
find_sizes(struct pzc *p, struct pzc_entry *e)
{
	struct convert c = { .codec = e->codec, .decompress = true,
	    .options = p->codec_options, .memory = p->memory };
	bool file = S_ISREG(e->src->st.st_mode) &&
	    (!e->src->is_stdin || lseek(e->src->fd, 0, SEEK_CUR) ==
	    (off_t)(e->in.bytes + e->in.peeked));
	struct convert_result r;
	int rc = 0;

	if (file && e->codec->list != NULL)
		rc = e->codec->list(e->src->fd,
		    (uint64_t)e->src->st.st_size, &e->l);
	if (!p->verify && !p->style->list_tests &&
	    (file || !p->style->list_reads_pipes)) {
		if (rc != 0)
			pzc_say_failure(p, e->src->path, rc, NULL);
		e->has_packed = file;
		e->packed = (uint64_t)e->src->st.st_size;
		return rc;
	}
	/* it may be possible to decompress a file but not to list it */
	if (rc != 0)
		memset(&e->l, 0, sizeof(e->l));
	rc = convert_run(&c, &e->in, -1, &r);
	if (rc != 0) {
		pzc_say_failure(p, e->src->path, rc, r.why);
		return rc;
	}
	rc = pzc_judge_rest(p, e->src->path, &r.notes);
	if (rc != 0)
		return rc;
	if (r.notes.unchecked)
		pzc_say(p, ON_UNCHECKED, e->src->path, NULL);
	if (!e->l.has_value) {
		e->l.has_value = r.notes.has_check;
		e->l.value = r.notes.check;
	}
	e->has_packed = e->l.has_size = e->l.exact = true;
	e->packed = r.stats.in_bytes;
	e->l.size = r.stats.out_bytes;
	e->tested = true;
	return 0;
}

/* Adds n to *sum.  A sum that overflows 64 bits is shown as a lower bound. */
static void
add_size(uint64_t *sum, bool *less, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum)) {
		*sum = UINT64_MAX;
		*less = true;
	}
}

void
pzc_list(struct pzc *p, const struct source *s)
{
	struct pzc_entry e = { .p = p, .src = s, .l = { .frame_arg = &e,
	    .frame = p->msg.verbose > 0 ? p->style->list_frame : NULL } };
	struct pzc_totals *t = &p->totals;
	int rc = input_open(&e.in, s->fd);

	/* the time zone file must be read before confinement */
	tzset();
	pzc_confine(p, s, NULL);
	if (rc == 0 && p->style->lists_itself) {
		p->style->list(p, &e);
		goto out;
	}
	if (rc != 0)
		pzc_say(p, ON_ERROR, s->path, strerror(-rc));
	if (rc != 0 || read_head(p, &e) != 0 || find_sizes(p, &e) != 0)
		goto out;
	if (!p->json)
		p->style->list(p, &e);
	else if ((rc = print_json(p, &e)) != 0)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
	t->files++;
	t->around_B = e.stored.head_B + GZIP_TRAILER;
	t->packed_less |= !e.has_packed;
	t->size_less |= !e.l.has_size || !e.l.exact;
	if (e.has_packed)
		add_size(&t->packed, &t->packed_less, e.packed);
	if (e.l.has_size)
		add_size(&t->size, &t->size_less, e.l.size);
out:
	input_close(&e.in);
}

void
pzc_list_end(struct pzc *p)
{
	if (!p->json && p->style->list_sum != NULL)
		p->style->list_sum(p);
}
