/*
 * pzc_list.c - what is in compressed files, without decompressing them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_file.h"

#include "base/sys.h"
#include "base/table.h"
#include "base/utf8.h"
#include "format/skippable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const columns[] = {
	"name", "method", "check", "frames", "compressed_B", "uncompressed_B",
	"exact", "ratio", "check_value", "mtime", "tested"
};

struct entry {
	const struct source *src;
	const char *name;
	const struct codec *codec;
	struct input in;
	struct codec_listing l;
	struct codec_stored stored;
	bool has_packed, tested;
	uint64_t packed;		/* bytes in the file */
	int64_t mtime;			/* 0: none */
};

/* Numbers, as words */

struct word {
	char s[32];
};

/* A trailing + says: or more. */
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

/* A name may hold anything, and one from a header is anybody's. */
static void
put_name(const char *name)
{
	char safe[UTF8_SAFE];

	while (*name != '\0')
		fwrite(safe, 1, utf8_safe(&name, safe), stdout);
	putchar('\n');
}

static const char *
check_of(const struct entry *e)
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

static void
print_line(const struct pzc *p, const struct entry *e)
{
	const struct codec_listing *l = &e->l;
	const char *check = check_of(e);
	bool more = !l->exact;

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
	put_name(e->name);
}

static int
print_json(const struct entry *e)
{
	const struct codec_listing *l = &e->l;
	struct table *t = NULL;
	int rc = table_to_fd(&t, STDOUT_FILENO, TABLE_JSON, columns,
	    sizeof(columns) / sizeof(columns[0]));

	if (rc != 0)
		return rc;
	table_text(t, e->name);
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

/* A sum that 64 bits do not hold is shown as more than they do. */
static void
add_size(uint64_t *sum, bool *less, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum)) {
		*sum = UINT64_MAX;
		*less = true;
	}
}

static void
add_totals(struct pzc_totals *t, const struct entry *e)
{
	t->files++;
	t->packed_less |= !e->has_packed;
	t->size_less |= !e->l.has_size || !e->l.exact;
	if (e->has_packed)
		add_size(&t->packed, &t->packed_less, e->packed);
	if (e->l.has_size)
		add_size(&t->size, &t->size_less, e->l.size);
}

void
pzc_list_end(struct pzc *p)
{
	const struct pzc_totals *t = &p->totals;

	if (p->mode != PZC_LIST || t->files < 2 || p->json || p->msg.quiet)
		return;
	if (p->msg.verbose > 0)
		printf("%6s  %-8s  %-16s  ", "", "", "");
	printf("%-8s  %-11s  %14s  %15s  %8s  (%" PRIu64 " files)\n", "", "",
	    count_word(true, t->packed, t->packed_less).s,
	    count_word(true, t->size, t->size_less).s,
	    ratio_word(!t->packed_less, t->packed, t->size, t->size_less).s,
	    t->files);
}

/* One file */

/* The format, and what the header has that is no size. */
static int
read_head(struct pzc *p, struct entry *e)
{
	const uint8_t *head;
	ssize_t n = skippable_shorten(&e->in);

	if (n == 0)
		n = input_peek(&e->in, INPUT_PEEK, &head);
	if (n < 0) {
		msg_error(&p->msg, "%s: %s", e->src->path, strerror((int)-n));
		return -1;
	}
	e->codec = p->codec;
	if (e->codec == NULL)
		e->codec = codec_by_magic(head, (size_t)n <
		    CODEC_MAGIC_MAX ? (size_t)n : CODEC_MAGIC_MAX);
	if (e->codec == NULL) {
		msg_error(&p->msg, n == 0 ? "%s: unexpected end of file" :
		    "%s: not in a known format", e->src->path);
		return -1;
	}
	if (e->codec->stored != NULL)
		e->codec->stored(head, (size_t)n, &e->stored);
	if (p->restore_name && e->stored.name[0] != '\0')
		e->name = e->stored.name;
	e->mtime = e->stored.mtime != 0 ? e->stored.mtime :
	    S_ISREG(e->src->st.st_mode) ? e->src->st.st_mtime : 0;
	return 0;
}

/* -lt: sizes that are counted. */
static int
test(struct pzc *p, struct entry *e)
{
	struct convert c = { .codec = e->codec, .decompress = true,
	    .options = p->codec_options, .memory = p->memory };
	struct convert_result r;
	int rc = convert_run(&c, &e->in, -1, &r);

	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", e->src->path,
		    pzc_sentence(rc, r.why));
		return rc;
	}
	if (r.notes.trailing_garbage)
		msg_warn(&p->msg, "%s: trailing garbage ignored", e->src->path);
	if (r.notes.unchecked)
		msg_warn(&p->msg, "%s: a check of unknown kind was not "
		    "verified", e->src->path);
	e->has_packed = e->l.has_size = e->l.exact = true;
	e->packed = r.stats.in_bytes;
	e->l.size = r.stats.out_bytes;
	e->tested = true;
	return 0;
}

static int
look_into(struct pzc *p, struct entry *e)
{
	bool file = S_ISREG(e->src->st.st_mode) &&
	    (!e->src->is_stdin || lseek(e->src->fd, 0, SEEK_CUR) ==
	    (off_t)(e->in.bytes + e->in.peeked));
	int rc = 0;

	if (file && e->codec->list != NULL)
		rc = e->codec->list(e->src->fd, (uint64_t)e->src->st.st_size, &e->l);
	if (p->verify) {
		/* what cannot be listed may still be decompressed */
		if (rc != 0)
			memset(&e->l, 0, sizeof(e->l));
		return test(p, e);
	}
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", e->src->path, pzc_sentence(rc, NULL));
	e->has_packed = file;
	e->packed = (uint64_t)e->src->st.st_size;
	return rc;
}

static void
show(struct pzc *p, const struct entry *e)
{
	int rc;

	if (p->json) {
		rc = print_json(e);
		if (rc != 0)
			msg_error(&p->msg, "standard output: %s",
			    strerror(-rc));
	} else {
		print_head(p);
		print_line(p, e);
	}
	add_totals(&p->totals, e);
}

void
pzc_list(struct pzc *p, const struct source *s)
{
	struct entry e = { .src = s, .name = s->is_stdin ? "-" : s->path };
	int rc = input_open(&e.in, s->fd);

	/* the time zone is a file, too */
	tzset();
	pzc_confine(p, s, NULL);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", s->path, strerror(-rc));
	else if (read_head(p, &e) == 0 && look_into(p, &e) == 0)
		show(p, &e);
	input_close(&e.in);
}
