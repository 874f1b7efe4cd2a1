/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/toml.h"

#include "base/strbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Writes an item as a line: its path, type and value. */
static int
write_item(void *arg, const struct toml_item *i)
{
	static const char types[] = { [TOML_TABLE] = 'T', [TOML_ELEMENT] = 'E',
		[TOML_STRING] = 's', [TOML_BOOL] = 'b', [TOML_OTHER] = 'o' };
	struct strbuf *b = arg;

	for (size_t k = 0; k < i->depth; k++)
		strbuf_fmt(b, "%s%s", k > 0 ? "|" : "", i->path[k]);
	strbuf_fmt(b, " %c%zu %s\n", types[i->type], i->line,
	    i->type == TOML_BOOL ? (i->truth ? "yes" : "no") : i->text);
	return 0;
}

static void
reads(const char *text, const char *want)
{
	struct strbuf b = { 0 };
	char why[TOML_WHY];

	strbuf_str(&b, "");
	assert_int_equal(toml_read(text, strlen(text), write_item, &b, why), 0);
	strbuf_add(&b, "", 1);
	assert_string_equal(b.data, want);
	strbuf_free(&b);
}

static void
refuses(const char *text, const char *want)
{
	struct strbuf b = { 0 };
	char why[TOML_WHY];

	assert_int_equal(toml_read(text, strlen(text), write_item, &b, why),
	    -EBADMSG);
	assert_string_equal(why, want);
	strbuf_free(&b);
}

static void
tables(void **state)
{
	(void)state;
	reads("", "");
	reads("# only this", "");
	reads("\xef\xbb\xbf" "a = 1 # one\r\n\r\n[b]\nc=2\n[ d . \"e.f\" ]\n"
	    "g.h = true\n[[i]]\nj = false\n[[i]]",
	    "a o1 1\nb T3 \nb|c o4 2\nd|e.f T5 \nd|e.f|g|h b6 yes\ni E7 \n"
	    "i|j b8 no\ni E9 \n");
}

static void
values(void **state)
{
	(void)state;
	reads("a = [ 'x', # one\n \"y\" ,\n]\nb = []\n",
	    "a s1 x\na s2 y\n");
	reads("a = { b = 1, c.d = 'x' }\ne = {}", "a|b o1 1\na|c|d s1 x\n");
	reads("a = [[1, 2], [3]]", "a o1 1\na o1 2\na o1 3\n");
	reads("d = 1979-05-27T07:32:00Z\nf = +1.5e-3\nh = 0xff_ff",
	    "d o1 1979-05-27T07:32:00Z\nf o2 +1.5e-3\nh o3 0xff_ff\n");
}

static void
strings(void **state)
{
	(void)state;
	reads("a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\\u0041\\u20ac\"",
	    "a s1 \b\t\n\f\r\"\\\xc3\xa9\xf0\x9f\x98\x80" "A\xe2\x82\xac\n");
	reads("a = 'C:\\x'", "a s1 C:\\x\n");
	reads("a = \"\"\"\none\ntwo \\\n   three\"\"\"\nb = 1",
	    "a s4 one\ntwo three\nb o5 1\n");
	reads("a = '''\r\nit's''''", "a s2 it's'\n");
	reads("a = \"\"\nb = ''", "a s1 \nb s2 \n");
}

static void
faults(void **state)
{
	(void)state;
	refuses("a", "line 1: expected =");
	refuses("a =", "line 1: expected a value");
	refuses("a = 1 2", "line 1: expected the end of the line");
	refuses("\n\n= 1", "line 3: expected a key");
	refuses("a = \"x\ny\"", "line 1: expected the end of the string");
	refuses("a = 'x", "line 1: expected the end of the string");
	refuses("a = \"\\x\"", "line 1: expected an escape sequence");
	refuses("a = \"\\u12g4\"", "line 1: expected hexadecimal digits");
	refuses("a = \"\\u0000\"", "line 1: expected a character");
	refuses("a = \"\\ud800\"", "line 1: expected a character");
	refuses("a = \"\\U00110000\"", "line 1: expected a character");
	refuses("[a", "line 1: expected ]");
	refuses("[[a]", "line 1: expected ]]");
	refuses("a = [1 2]", "line 1: expected , or ]");
	refuses("a = [1", "line 1: expected , or ]");
	refuses("a = { b = 1", "line 1: expected , or }");
	refuses("a = trueish", "line 1: expected a value");
	refuses("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1",
	    "line 1: expected a path of at most 16 keys");
	refuses("a = [[[[[[[[[[[[[[[[[",
	    "line 1: expected at most 16 nested values");
}

static int
stop(void *arg, const struct toml_item *i)
{
	(void)i;
	return ++*(int *)arg == 2 ? -ECANCELED : 0;
}

static void
stopped(void **state)
{
	const char text[] = "a = 1\nb = 2\nc = 3";
	char why[TOML_WHY];
	int n = 0;

	(void)state;
	assert_int_equal(toml_read(text, strlen(text), stop, &n, why),
	    -ECANCELED);
	assert_int_equal(n, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(values),
		cmocka_unit_test(strings),
		cmocka_unit_test(faults),
		cmocka_unit_test(stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
