/*
 * as_actions.c - the actions of mksquashfs: parsing and evaluation
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An expression is compiled to a list of steps.  A step evaluates a test or
 * jumps, so evaluation needs no recursion.
 */
#include "as_actions.h"

#include "base/args.h"
#include "base/array.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/source/imgsrc.h"

#include "as.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef FNM_EXTMATCH
enum { EXTENDED = FNM_EXTMATCH };
#else
enum { EXTENDED = 0 };
#endif

enum { ARGS_MAX = 8, DEPTH_MAX = 64 };

/* Which types of files an action or a test is for. */
enum scope { ANY, NOT_LINKS, FILES };

enum test_kind { NAME, PATHNAME, SUBPATHNAME, FILESIZE, TAILSIZE, UID, GID,
    DEPTH, TYPE, PERM, ABSOLUTE, CONSTANT };

static const struct test_name {
	const char *name;
	enum test_kind kind;
	int args;			/* -1: one or more, joined by commas */
	bool range, id;			/* two limits; the name of an owner */
} tests[] = {
	{ "name", NAME, 1, false, false },
	{ "pathname", PATHNAME, 1, false, false },
	{ "subpathname", SUBPATHNAME, 1, false, false },
	{ "filesize", FILESIZE, 1, false, false },
	{ "filesize_range", FILESIZE, 2, true, false },
	{ "tailsize", TAILSIZE, 1, false, false },
	{ "tailsize_range", TAILSIZE, 2, true, false },
	{ "uid", UID, 1, false, false },
	{ "uid_range", UID, 2, true, false },
	{ "user", UID, 1, false, true },
	{ "gid", GID, 1, false, false },
	{ "gid_range", GID, 2, true, false },
	{ "group", GID, 1, false, true },
	{ "depth", DEPTH, 1, false, false },
	{ "depth_range", DEPTH, 2, true, false },
	{ "type", TYPE, 1, false, false },
	{ "perm", PERM, -1, false, false },
	{ "absolute", ABSOLUTE, 0, false, false },
	{ "true", CONSTANT, 0, false, false },
	{ "false", CONSTANT, 0, false, false }
};

/* Names that mksquashfs has, but which need more than we know of a file. */
static const char lacking[] = " dirsize size inode nlink fileblocks dirblocks "
    "blocks dircount dirsize_range size_range inode_range nlink_range "
    "fileblocks_range dirblocks_range blocks_range dircount_range file exec "
    "exists stat readlink eval fragment fragments no-fragments "
    "always-use-fragments dont-always-use-fragments tailend no-tailend empty "
    "move xattrs-exclude xattrs-include align ";

enum action_kind { EXCLUDE, PRUNE, COMPRESS, STORE, SET_UID, SET_GID, SET_BOTH,
    SET_MODE, ADD_XATTR, NOTHING };

static const struct action_name {
	const char *name;
	enum action_kind kind;
	int args;
	enum scope scope;
	enum as_stage stage;
} actions[] = {
	{ "exclude", EXCLUDE, 0, ANY, AS_EXCLUDE },
	{ "prune", PRUNE, 0, ANY, AS_PRUNE },
	{ "compressed", COMPRESS, 0, FILES, AS_CHANGE },
	{ "uncompressed", STORE, 0, FILES, AS_CHANGE },
	{ "uid", SET_UID, 1, ANY, AS_CHANGE },
	{ "gid", SET_GID, 1, ANY, AS_CHANGE },
	{ "guid", SET_BOTH, 2, ANY, AS_CHANGE },
	{ "mode", SET_MODE, -1, NOT_LINKS, AS_CHANGE },
	{ "chmod", SET_MODE, -1, NOT_LINKS, AS_CHANGE },
	{ "xattrs-add", ADD_XATTR, 1, NOT_LINKS, AS_CHANGE },
	{ "noop", NOTHING, 0, NOT_LINKS, AS_CHANGE }
};

enum { TESTS = sizeof(tests) / sizeof(*tests),
    ACTIONS = sizeof(actions) / sizeof(*actions) };

enum step_kind { EVALUATE, NEGATE, UNLESS, WHEN, SAY };

/*
 * UNLESS and WHEN jump if the value so far is false, or true.  SAY is for the
 * log, in which the expression is written as far as it is evaluated.
 */
struct step {
	enum step_kind kind;
	const char *word;		/* to say, so often */
	unsigned times;
	char *text;			/* a test, with its arguments */
	size_t to;			/* where they jump to */
	enum test_kind test;
	char *pattern;
	int64_t lo, hi;
	uint16_t bits;
	char op;			/* of PERM: '-', '/' or 0 */
	bool value;			/* of CONSTANT */
};

struct action {
	const struct action_name *what;
	char *text;			/* argument of chmod and xattrs-add */
	char *call;			/* its name, with arguments */
	unsigned log;			/* enum as_log */
	uint32_t uid, gid;
	struct step *steps;
	size_t count, cap;
};

struct as_actions {
	struct action *items;
	size_t count, cap;
};

/* Words */

/* A word and its arguments; all are copies. */
struct call {
	char *name, *args[ARGS_MAX];
	int count;
};

struct parser {
	const char *s;
	char *why;
	struct action *action;
	int depth;
};

static int __attribute__((format(printf, 2, 3)))
wrong(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, AS_ACTIONS_WHY, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void
skip_blanks(struct parser *p)
{
	p->s += strspn(p->s, " \t");
}

/* Skips a symbol if it is next. */
static bool
takes(struct parser *p, const char *symbol)
{
	size_t n = strlen(symbol);

	skip_blanks(p);
	if (strncmp(p->s, symbol, n) != 0)
		return false;
	p->s += n;
	return true;
}

static bool
is_special(const char *s)
{
	return strchr("()!,@ \t", *s) != NULL || strncmp(s, "&&", 2) == 0 ||
	    strncmp(s, "||", 2) == 0;
}

/*
 * Copies the next string, in which a backslash or quotes make characters
 * ordinary.
 */
static int
take_string(struct parser *p, char **out)
{
	char *to, *start;
	bool quoted = false;

	skip_blanks(p);
	start = to = sys_malloc(strlen(p->s) + 1);
	if (to == NULL)
		return -ENOMEM;
	for (; *p->s != '\0' && (quoted || !is_special(p->s)); p->s++) {
		if (*p->s == '"') {
			quoted = !quoted;
			continue;
		}
		if (*p->s == '\\' && *++p->s == '\0')
			break;
		*to++ = *p->s;
	}
	*to = '\0';
	if (quoted || to == start) {
		sys_free(start);
		return wrong(p, quoted ? "a quote is not closed" :
		    "expected a name or an argument before '%s'", p->s);
	}
	*out = start;
	return 0;
}

static void
free_call(struct call *c)
{
	sys_free(c->name);
	for (int i = 0; i < c->count; i++)
		sys_free(c->args[i]);
}

/* Takes a name and, in brackets, its arguments.  c must be freed. */
static int
take_call(struct parser *p, struct call *c)
{
	int rc = take_string(p, &c->name);

	if (rc != 0 || !takes(p, "("))
		return rc;
	if (takes(p, ")"))
		return 0;
	do {
		if (c->count == ARGS_MAX)
			return wrong(p, "%s: too many arguments", c->name);
		rc = take_string(p, &c->args[c->count]);
		c->count += rc == 0;
	} while (rc == 0 && takes(p, ","));
	if (rc == 0 && !takes(p, ")"))
		rc = wrong(p, "%s: expected ')' before '%s'", c->name, p->s);
	return rc;
}

/* Returns the word with its arguments; NULL: no memory. */
static char *
call_text(const struct call *c)
{
	struct strbuf text = { .len = 0 };

	strbuf_add(&text, c->name, strlen(c->name));
	for (int i = 0; i < c->count; i++) {
		strbuf_char(&text, i == 0 ? '(' : ',');
		strbuf_add(&text, c->args[i], strlen(c->args[i]));
	}
	if (c->count > 0)
		strbuf_char(&text, ')');
	strbuf_char(&text, '\0');
	if (!text.failed)
		return text.data;
	strbuf_free(&text);
	return NULL;
}

/* Checks the number of arguments; those of a mode become one again. */
static int
check_args(struct parser *p, struct call *c, int want)
{
	size_t room = 1;
	char *all;

	if (want >= 0)
		return c->count == want ? 0 : wrong(p, "%s: expected %d "
		    "argument%s, found %d", c->name, want, want == 1 ? "" :
		    "s", c->count);
	if (c->count == 0)
		return wrong(p, "%s: expected an argument", c->name);
	for (int i = 0; i < c->count; i++)
		room += strlen(c->args[i]) + 1;
	all = sys_malloc(room);
	if (all == NULL)
		return -ENOMEM;
	*all = '\0';
	for (int i = 0; i < c->count; i++) {
		if (i > 0)
			strcat(all, ",");
		strcat(all, c->args[i]);
		sys_free(c->args[i]);
	}
	c->args[0] = all;
	c->count = 1;
	return 0;
}

static int
unknown(struct parser *p, const char *what, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), " %s ", name);
	wrong(p, strstr(lacking, word) != NULL ? "sqpack does not support the "
	    "%s %s" : "there is no %s %s", what, name);
	return strstr(lacking, word) != NULL ? -ENOTSUP : -EINVAL;
}

/* Tests */

static int
take_size(struct parser *p, const char *text, int64_t *n)
{
	char *end;
	int shift = 0;

	errno = 0;
	*n = strtoll(text, &end, 10);
	if (end != text && *end != '\0' && end[1] == '\0') {
		shift = strchr("kK", *end) != NULL ? 10 :
		    strchr("mM", *end) != NULL ? 20 :
		    strchr("gG", *end) != NULL ? 30 : 0;
		end += shift != 0;
	}
	if (end == text || *end != '\0' || errno != 0 ||
	    *n > INT64_MAX >> shift || *n < 0)
		return wrong(p, "expected a number, found '%s'", text);
	*n *= INT64_C(1) << shift;
	return 0;
}

/* Parses [<>+-]number, <=number or >=number. */
static int
take_limit(struct parser *p, const char *text, struct step *st)
{
	bool equal = strchr("<>", *text) != NULL && text[1] == '=';
	bool less = *text == '<' || *text == '-';
	bool more = *text == '>' || *text == '+';
	int64_t n;
	int rc = take_size(p, text + (less || more) + equal, &n);

	st->lo = less ? INT64_MIN : more && !equal ? n + (n < INT64_MAX) : n;
	st->hi = more ? INT64_MAX : less && !equal ? n - 1 : n;
	return rc;
}

static int
take_owner(struct parser *p, const char *text, bool group, uint32_t *id)
{
	if ((group ? imgsrc_group(text, id) : imgsrc_user(text, id)) == 0)
		return 0;
	return wrong(p, "there is no %s %s", group ? "group" : "user", text);
}

static int
take_test_mode(struct parser *p, const char *text, struct step *st)
{
	if (*text == '-' || *text == '/')
		st->op = *text++;
	st->bits = 0;
	return as_mode_apply(text, &st->bits) ? 0 : wrong(p, "perm: expected a "
	    "mode, found '%s'", text);
}

/* Fills in a test. */
static int
fill_test(struct parser *p, const struct test_name *t, const struct call *c,
    struct step *st)
{
	const char *arg = c->args[0];
	uint32_t id = 0;
	int rc;

	switch (t->kind) {
	case NAME:
	case PATHNAME:
	case SUBPATHNAME:
		if (t->kind != NAME)
			arg += strspn(arg, "/");
		st->pattern = strcopy(arg);
		return st->pattern == NULL ? -ENOMEM : 0;
	case TYPE:
		if (strlen(arg) != 1 || strchr("fdlcbps", *arg) == NULL)
			return wrong(p, "type: expected one of f, d, l, c, b, "
			    "p and s, found '%s'", arg);
		st->op = *arg;
		return 0;
	case PERM:
		return take_test_mode(p, arg, st);
	case CONSTANT:
		st->value = *t->name == 't';
		return 0;
	case ABSOLUTE:
		return 0;
	default:
		break;
	}
	if (t->id) {
		rc = take_owner(p, arg, t->kind == GID, &id);
		st->lo = st->hi = id;
		return rc;
	}
	if (!t->range)
		return take_limit(p, arg, st);
	rc = take_size(p, arg, &st->lo);
	return rc != 0 ? rc : take_size(p, c->args[1], &st->hi);
}

static int
add_step(struct parser *p, const struct step *st)
{
	struct action *a = p->action;
	void *items = a->steps;
	int rc = array_grow(&items, a->count, &a->cap, sizeof(*a->steps));

	a->steps = items;
	if (rc == 0)
		a->steps[a->count++] = *st;
	return rc;
}

static int
take_test(struct parser *p)
{
	const struct test_name *t = tests;
	struct step st = { .kind = EVALUATE };
	struct call c = { .name = NULL };
	int rc = take_call(p, &c);

	while (rc == 0 && t < tests + TESTS && strcmp(t->name, c.name) != 0)
		t++;
	if (rc == 0 && t == tests + TESTS)
		rc = unknown(p, "test", c.name);
	if (rc == 0) {
		st.text = call_text(&c);
		rc = st.text == NULL ? -ENOMEM : check_args(p, &c, t->args);
	}
	if (rc == 0) {
		st.test = t->kind;
		rc = fill_test(p, t, &c, &st);
	}
	if (rc == 0)
		rc = add_step(p, &st);
	if (rc != 0) {
		sys_free(st.pattern);
		sys_free(st.text);
	}
	free_call(&c);
	return rc;
}

static int
say(struct parser *p, const char *word, unsigned times)
{
	return add_step(p, &(struct step){ .kind = SAY, .word = word,
		.times = times });
}

static int take_expression(struct parser *p);

/* A test, or an expression in brackets, perhaps negated. */
static int
take_operand(struct parser *p)
{
	bool negated = false;
	int rc = 0;

	while (rc == 0 && takes(p, "!")) {
		negated = !negated;
		rc = say(p, "!", 1);
	}
	if (rc != 0)
		return rc;
	if (takes(p, "(")) {
		if (++p->depth > DEPTH_MAX)
			return wrong(p, "more than %d brackets are nested",
			    DEPTH_MAX);
		rc = take_expression(p);
		p->depth--;
		if (rc == 0 && !takes(p, ")"))
			rc = wrong(p, "expected ')' before '%s'", p->s);
	} else {
		rc = take_test(p);
	}
	if (rc == 0 && negated)
		rc = add_step(p, &(struct step){ .kind = NEGATE });
	return rc;
}

/* Operands from left to right; && and || have the same precedence. */
static int
take_expression(struct parser *p)
{
	size_t start = p->action->count, at;
	int rc = say(p, "(", 0);

	if (rc == 0)
		rc = take_operand(p);
	while (rc == 0) {
		struct step jump = { .kind = UNLESS };

		if (takes(p, "||"))
			jump.kind = WHEN;
		else if (!takes(p, "&&"))
			break;
		at = p->action->count;
		rc = add_step(p, &jump);
		if (rc == 0)
			rc = say(p, jump.kind == WHEN ? "||" : "&&", 1);
		if (rc == 0)
			rc = take_operand(p);
		if (rc != 0)
			break;
		p->action->steps[at].to = p->action->count;
		p->action->steps[start].times++;
		rc = say(p, ")", 1);
	}
	return rc;
}

/* Actions */

static int
fill_action(struct parser *p, const struct call *c)
{
	struct action *a = p->action;
	const char *arg = c->args[0];
	uint16_t any = S_IFREG;
	uint8_t *value;
	size_t len;
	ssize_t n;
	int rc = 0;

	switch (a->what->kind) {
	case SET_UID:
	case SET_BOTH:
		rc = take_owner(p, arg, false, &a->uid);
		if (rc == 0 && a->what->kind == SET_BOTH)
			rc = take_owner(p, c->args[1], true, &a->gid);
		return rc;
	case SET_GID:
		return take_owner(p, arg, true, &a->gid);
	case SET_MODE:
		if (!as_mode_apply(arg, &any))
			return wrong(p, "%s: expected a mode, found '%s'",
			    c->name, arg);
		break;
	case ADD_XATTR:
		n = imgsrc_xattr_parse(arg, &value, &len);
		if (n < 0)
			return n == -EINVAL ? wrong(p, "xattrs-add: expected "
			    "name=value, found '%s'", arg) : (int)n;
		sys_free(value);
		break;
	default:
		return 0;
	}
	a->text = strcopy(arg);
	return a->text == NULL ? -ENOMEM : 0;
}

static void
free_action(struct action *a)
{
	for (size_t i = 0; i < a->count; i++) {
		sys_free(a->steps[i].pattern);
		sys_free(a->steps[i].text);
	}
	sys_free(a->steps);
	sys_free(a->text);
	sys_free(a->call);
}

static int
take_action(struct parser *p)
{
	const struct action_name *n = actions;
	struct call c = { .name = NULL };
	int rc = take_call(p, &c);

	while (rc == 0 && n < actions + ACTIONS && strcmp(n->name, c.name) != 0)
		n++;
	if (rc == 0 && n == actions + ACTIONS)
		rc = unknown(p, "action", c.name);
	p->action->what = n;
	if (rc == 0) {
		p->action->call = call_text(&c);
		rc = p->action->call == NULL ? -ENOMEM :
		    check_args(p, &c, n->args);
	}
	if (rc == 0)
		rc = fill_action(p, &c);
	free_call(&c);
	return rc;
}

int
as_actions_add(struct as_actions *a, const char *text, unsigned log,
    char why[AS_ACTIONS_WHY])
{
	struct action new = { .what = NULL, .log = log };
	struct parser p = { .s = text, .why = why, .action = &new };
	void *items = a->items;
	int rc = take_action(&p);

	if (rc == 0 && !takes(&p, "@"))
		rc = wrong(&p, "expected '@' before '%s'", p.s);
	if (rc == 0)
		rc = take_expression(&p);
	skip_blanks(&p);
	if (rc == 0 && *p.s != '\0')
		rc = wrong(&p, "expected &&, || or the end before '%s'", p.s);
	if (rc == 0) {
		rc = array_grow(&items, a->count, &a->cap, sizeof(*a->items));
		a->items = items;
	}
	if (rc != 0) {
		free_action(&new);
		return rc;
	}
	a->items[a->count++] = new;
	return 0;
}

int
as_actions_open(struct as_actions **a)
{
	*a = sys_calloc(1, sizeof(**a));
	return *a == NULL ? -ENOMEM : 0;
}

void
as_actions_close(struct as_actions *a)
{
	if (a == NULL)
		return;
	for (size_t i = 0; i < a->count; i++)
		free_action(&a->items[i]);
	sys_free(a->items);
	sys_free(a);
}

bool
as_actions_has(const struct as_actions *a, enum as_stage stage)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].what->stage == stage)
			return true;
	return false;
}

/* Evaluation */

static bool
matches(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, FNM_PATHNAME | EXTENDED) == 0;
}

/* Returns the end of as many components of path as pattern has. */
static size_t
same_components(const char *pattern, const char *path)
{
	size_t n = 0;

	for (;; pattern++) {
		n += strcspn(path + n, "/");
		pattern = strchr(pattern, '/');
		if (pattern == NULL || path[n] == '\0')
			return n;
		n++;
	}
}

/* Returns 1, 0 or -ENOMEM. */
static int
begins_with(const char *pattern, const char *path)
{
	char *start = strcopy_part(path, same_components(pattern, path));
	bool match = start != NULL && matches(pattern, start);

	if (start == NULL)
		return -ENOMEM;
	sys_free(start);
	return match;
}

static int64_t
depth_of(const char *path)
{
	int64_t depth = *path != '\0';

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

static bool
has_type(const struct as_subject *s, char type)
{
	switch (type) {
	case 'f': return S_ISREG(s->mode);
	case 'd': return S_ISDIR(s->mode);
	case 'l': return S_ISLNK(s->mode);
	case 'c': return S_ISCHR(s->mode);
	case 'b': return S_ISBLK(s->mode);
	case 'p': return S_ISFIFO(s->mode);
	default: return S_ISSOCK(s->mode);
	}
}

static bool
has_mode(const struct as_subject *s, const struct step *st)
{
	uint16_t mode = s->mode & 07777, bits = st->bits & 07777;

	return st->op == '-' ? (mode & bits) == bits :
	    st->op == '/' ? bits == 0 || (mode & bits) != 0 : mode == bits;
}

static bool
is_within(const struct step *st, int64_t n)
{
	return n >= st->lo && n <= st->hi;
}

/* Returns 1, 0 or -ENOMEM. */
static int
evaluate_test(const struct step *st, const struct as_subject *s)
{
	switch (st->test) {
	case NAME: return matches(st->pattern, path_name(s->path));
	case PATHNAME: return matches(st->pattern, s->path);
	case SUBPATHNAME: return begins_with(st->pattern, s->path);
	case FILESIZE:
		return S_ISREG(s->mode) && is_within(st, (int64_t)s->size);
	case TAILSIZE:
		return S_ISREG(s->mode) && is_within(st,
		    (int64_t)(s->size % s->block));
	case UID: return is_within(st, s->uid);
	case GID: return is_within(st, s->gid);
	case DEPTH: return is_within(st, depth_of(s->path));
	case TYPE: return has_type(s, st->op);
	case PERM: return has_mode(s, st);
	case ABSOLUTE:
		return S_ISLNK(s->mode) && s->target != NULL &&
		    *s->target == '/';
	default: return st->value;
	}
}

static void
put(struct strbuf *log, const char *text)
{
	strbuf_add(log, text, strlen(text));
}

/*
 * Writes the expression, as far as it is evaluated, to the log.  Returns 1, 0
 * or -ENOMEM.
 */
static int
evaluate(const struct action *a, const struct as_subject *s,
    struct strbuf *log)
{
	int value = 0;

	for (size_t i = 0; i < a->count && value >= 0; i++) {
		const struct step *st = &a->steps[i];

		switch (st->kind) {
		case EVALUATE:
			value = evaluate_test(st, s);
			if (a->log != 0) {
				put(log, st->text);
				put(log, value > 0 ? "=True" : "=False");
			}
			break;
		case NEGATE:
			value = !value;
			break;
		case SAY:
			for (unsigned k = 0; a->log != 0 && k < st->times; k++)
				put(log, st->word);
			break;
		default:
			if ((st->kind == WHEN) == (value != 0))
				i = st->to - 1;
			break;
		}
	}
	return value;
}

/* Prints the log of an action for which it was asked. */
static int
print_log(const struct action *a, struct strbuf *log, int value)
{
	strbuf_char(log, '\0');
	if (log->failed)
		return -ENOMEM;
	if ((a->log & (value > 0 ? AS_LOG_TRUE : AS_LOG_FALSE)) != 0)
		puts(log->data);
	return 0;
}

static int
apply(const struct action *a, struct as_subject *s, struct as_effect *e,
    int (*xattr)(void *arg, const char *text), void *arg)
{
	switch (a->what->kind) {
	case EXCLUDE:
	case PRUNE: e->out = true; break;
	case COMPRESS:
	case STORE:
		e->has_raw = true;
		e->raw = a->what->kind == STORE;
		break;
	case SET_UID: s->uid = a->uid; break;
	case SET_GID: s->gid = a->gid; break;
	case SET_BOTH:
		s->uid = a->uid;
		s->gid = a->gid;
		break;
	case SET_MODE: as_mode_apply(a->text, &s->mode); break;
	case ADD_XATTR: return xattr == NULL ? 0 : xattr(arg, a->text);
	default: break;
	}
	return 0;
}

int
as_actions_run(const struct as_actions *a, enum as_stage stage,
    struct as_subject *s, struct as_effect *e,
    int (*xattr)(void *arg, const char *text), void *arg)
{
	struct strbuf log = { .len = 0 };
	int rc = 0, match;

	for (size_t i = 0; i < a->count && rc == 0; i++) {
		const struct action *x = &a->items[i];

		if (x->what->stage != stage ||
		    (x->what->scope == FILES && !S_ISREG(s->mode)) ||
		    (x->what->scope == NOT_LINKS && S_ISLNK(s->mode)))
			continue;
		if (x->log != 0) {
			strbuf_clear(&log);
			put(&log, "/");
			put(&log, s->path);
			put(&log, "=");
			put(&log, x->call);
			put(&log, "@");
		}
		match = evaluate(x, s, &log);
		rc = match < 0 ? match : x->log != 0 ? print_log(x, &log,
		    match) : 0;
		if (rc == 0 && match > 0)
			rc = apply(x, s, e, xattr, arg);
	}
	strbuf_free(&log);
	return rc;
}
