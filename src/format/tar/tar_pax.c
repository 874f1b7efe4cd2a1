/*
 * tar_pax.c - pax extended headers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A record is "LENGTH KEY=VALUE\n", where LENGTH is the length of the whole
 * record.  The newline is replaced with a NUL, so that values become strings in
 * place.  Therefore a NUL is also accepted as the end of a record that has
 * already been parsed.
 */
#include "tar_impl.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

static const char xattr_prefix[] = "SCHILY.xattr.";

static int
bad_value(struct tar *t)
{
	return tar_fail(t, -EBADMSG,
	    "a value in an extended header is damaged");
}

static int
set_text(struct tar *t, const struct tar_xattr *r, const char **text)
{
	if (strlen(r->value) != r->length)
		return bad_value(t);
	*text = r->length == 0 ? NULL : r->value;
	return 0;
}

static int
set_number(struct tar *t, const struct tar_xattr *r, bool *has, uint64_t *value)
{
	if (has != NULL)
		*has = r->length > 0;
	if (r->length > 0 && tar_decimal(r->value, value) != 0)
		return bad_value(t);
	return 0;
}

/* Parses signed seconds with a fraction, rounded down to nanoseconds. */
static int
set_time(struct tar *t, const struct tar_xattr *r, struct tar_time *time)
{
	const char *s = r->value;
	bool negative = *s == '-';
	uint64_t seconds = 0;
	uint32_t ns = 0, unit = 100000000;

	time->known = r->length > 0;
	for (s += negative; *s >= '0' && *s <= '9'; s++) {
		if (seconds > INT64_MAX / 20)
			return bad_value(t);
		seconds = seconds * 10 + (uint64_t)(*s - '0');
	}
	for (s += *s == '.'; *s >= '0' && *s <= '9'; s++, unit /= 10)
		ns += (uint32_t)(*s - '0') * unit;
	if (*s != '\0')
		return bad_value(t);
	time->seconds = negative ? -(int64_t)seconds : (int64_t)seconds;
	if (negative && ns > 0) {
		time->seconds--;
		ns = 1000000000 - ns;
	}
	time->ns = ns;
	return 0;
}

/* Does the same, but ignores what is not a time: hardly anyone needs it. */
static int
set_other_time(struct tar *t, const struct tar_xattr *r, struct tar_time *time)
{
	if (set_time(t, r, time) != 0)
		time->known = false;
	return 0;
}

int
tar_xattr_add(struct tar_xattrs *list, const struct tar_xattr *x)
{
	void *items = list->at;

	if (array_grow(&items, list->count, &list->cap, sizeof(*x)) != 0)
		return -ENOMEM;
	list->at = items;
	list->at[list->count++] = *x;
	return 0;
}

/* In GNU.sparse 0.0 and 0.1, offsets and lengths alternate. */
static int
add_half(struct tar *t, struct tar_pax *p, uint64_t value)
{
	p->half = !p->half;
	if (p->half)
		return tar_extent_add(t, &p->extents,
		    (struct tar_extent){ .offset = value });
	p->extents.at[p->extents.count - 1].length = value;
	return 0;
}

static int
set_map(struct tar *t, struct tar_pax *p, const struct tar_xattr *r)
{
	const char *s = r->value;
	int rc = 0;

	while (rc == 0 && *s != '\0') {
		size_t len = strcspn(s, ",");
		char digits[24];
		uint64_t value;

		if (len >= sizeof(digits))
			return bad_value(t);
		memcpy(digits, s, len);
		digits[len] = '\0';
		if (tar_decimal(digits, &value) != 0)
			return bad_value(t);
		rc = add_half(t, p, value);
		s += len;
		s += *s == ',';
	}
	return rc;
}

static int
set_sparse(struct tar *t, struct tar_pax *p, const struct tar_xattr *r)
{
	const char *key = r->name + strlen("GNU.sparse.");
	uint64_t value = 0;
	int rc;

	p->sparse = true;
	if (strcmp(key, "name") == 0)
		return set_text(t, r, &p->sparse_name);
	if (strcmp(key, "map") == 0)
		return set_map(t, p, r);
	rc = set_number(t, r, NULL, &value);
	if (rc != 0)
		return rc;
	if (strcmp(key, "offset") == 0 || strcmp(key, "numbytes") == 0)
		return p->half == (*key == 'n') ? add_half(t, p, value) :
		    bad_value(t);
	if (strcmp(key, "size") == 0 || strcmp(key, "realsize") == 0)
		p->realsize = value;
	else if (strcmp(key, "major") == 0)
		p->sparse_major = value > 9 ? 9 : (unsigned)value;
	else if (strcmp(key, "minor") == 0)
		p->sparse_minor = value > 9 ? 9 : (unsigned)value;
	return 0;
}

static int
apply_record(struct tar *t, struct tar_pax *p, const struct tar_xattr *r)
{
	if (strcmp(r->name, "path") == 0)
		return set_text(t, r, &p->path);
	if (strcmp(r->name, "linkpath") == 0)
		return set_text(t, r, &p->link);
	if (strcmp(r->name, "uname") == 0)
		return set_text(t, r, &p->uname);
	if (strcmp(r->name, "gname") == 0)
		return set_text(t, r, &p->gname);
	if (strcmp(r->name, "uid") == 0)
		return set_number(t, r, &p->has_uid, &p->uid);
	if (strcmp(r->name, "gid") == 0)
		return set_number(t, r, &p->has_gid, &p->gid);
	if (strcmp(r->name, "size") == 0)
		return set_number(t, r, &p->has_size, &p->size);
	if (strcmp(r->name, "mtime") == 0)
		return set_time(t, r, &p->mtime);
	if (strcmp(r->name, "atime") == 0)
		return set_other_time(t, r, &p->atime);
	if (strcmp(r->name, "ctime") == 0)
		return set_other_time(t, r, &p->ctime);
	if (strncmp(r->name, xattr_prefix, strlen(xattr_prefix)) == 0)
		return tar_xattr_add(&p->xattrs, &(struct tar_xattr){
		    r->name + strlen(xattr_prefix), r->value, r->length });
	if (strncmp(r->name, "GNU.sparse.", strlen("GNU.sparse.")) == 0)
		return set_sparse(t, p, r);
	return 0;
}

/*
 * Splits the record at text, which may use up to `left` bytes.  Returns its
 * length, or 0.
 */
static size_t
split_record(char *text, size_t left, bool again, struct tar_xattr *r)
{
	size_t length = 0, digits = 0;
	char *equals;

	while (digits < left && text[digits] >= '0' && text[digits] <= '9' &&
	    length <= left)
		length = length * 10 + (size_t)(text[digits++] - '0');
	if (digits == 0 || length > left || length < digits + 3 ||
	    text[digits] != ' ')
		return 0;
	if (text[length - 1] != '\n' && !(again && text[length - 1] == '\0'))
		return 0;
	equals = memchr(text + digits + 1, again ? '\0' : '=',
	    length - digits - 2);
	if (equals == NULL)
		return 0;
	text[length - 1] = '\0';
	*equals = '\0';
	r->name = text + digits + 1;
	r->value = equals + 1;
	r->length = (size_t)(text + length - 1 - (equals + 1));
	return length;
}

int
tar_pax_parse(struct tar *t, struct tar_pax *p)
{
	char *text = p->text.data;
	size_t at = 0, before = p->parsed, n;
	struct tar_xattr r;
	int rc = 0;

	/* if the text has moved, so have the strings of earlier records */
	if (p->base == (uintptr_t)p->text.data)
		at = before;
	else
		tar_pax_reset(p);
	while (rc == 0 && at < p->text.len) {
		n = split_record(text + at, p->text.len - at, at < before, &r);
		if (n == 0)
			return tar_fail(t, -EBADMSG,
			    "an extended header is damaged");
		rc = tar_xattr_add(&p->records, &r);
		if (rc == 0)
			rc = apply_record(t, p, &r);
		at += n;
	}
	p->parsed = at;
	p->base = (uintptr_t)p->text.data;
	if (rc == 0 && p->half)
		rc = bad_value(t);
	return rc;
}

void
tar_pax_reset(struct tar_pax *p)
{
	*p = (struct tar_pax){ .text = p->text,
		.records = { p->records.at, 0, p->records.cap },
		.xattrs = { p->xattrs.at, 0, p->xattrs.cap },
		.extents = { p->extents.at, 0, p->extents.cap } };
}

void
tar_pax_free(struct tar_pax *p)
{
	sys_free(p->text.data);
	sys_free(p->records.at);
	sys_free(p->xattrs.at);
	sys_free(p->extents.at);
}
