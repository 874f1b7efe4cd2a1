/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/options.h"

#include "base/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { FIRST = 1, SECOND = 2, WORDS = 8 };

enum color { RED, GREEN, BLUE };

struct tool {
	struct msg msg;
	bool flag, clear, small, given, found;
	enum color color, tint;
	const char *text, *word, *style;
	uint32_t power, number;
	uint64_t size, big;
	int64_t signed_number;
	double seconds;
	unsigned threads;
	struct options_list list;
	char called[16];
};

static int
call(void *into)
{
	struct tool *t = into;

	if (optarg != NULL && strcmp(optarg, "bad") == 0)
		return options_bad(&t->msg, "thing", "good");
	strcpy(t->called, optarg == NULL ? "none" : optarg);
	return -1;
}

static int
call_with(void *into, int number)
{
	struct tool *t = into;

	snprintf(t->called, sizeof(t->called), "%d", number);
	return -1;
}

static int
call_text(void *into, const char *text)
{
	struct tool *t = into;

	snprintf(t->called, sizeof(t->called), "%s %s", text, optarg);
	return -1;
}

static int
leave(void *into)
{
	(void)into;
	return 42;
}

#define OPTIONS_INTO struct tool

static const struct options_row table[] = {
	{ 'f', "flag", NULL, "", OPTIONS_FLAG(flag) },
	{ 0, "no-clear", NULL, "two options on one line",
	    OPTIONS_CLEAR(clear), OPTIONS_GIVEN(given) },
	{ 0, NULL, "heading", "a line that is no option", OPTIONS_NOTE },
	{ 'v', "verbose", NULL, NULL, OPTIONS_COUNT(msg.verbose) },
	{ 't', "text", "TEXT", "any text", OPTIONS_TEXT(text),
	    .also = "another" },
	{ 0, "maybe", "[=TEXT]", "any text or none", OPTIONS_TEXT(text),
	    OPTIONS_GIVEN(given) },
	{ 0, "word", "WORD", "a word", OPTIONS_WORD(word, "word",
	    "one, two or three") },
	{ 0, "color", "COLOR", "a color", OPTIONS_NAME(color, "color",
	    "red, green or blue") },
	{ 0, "green", NULL, NULL, OPTIONS_SET(tint, GREEN) },
	{ 0, "small", "SIZE", "large or small", OPTIONS_NAME(small, "size",
	    "large or small") },
	{ 'n', "number", "N", "a number", OPTIONS_NUMBER(number, "number", 1,
	    UINT32_MAX) },
	{ 0, "signed", "N", "a number that is described by words that do not "
	    "fit in one line, nor, since they go on for long, in two lines, "
	    "so that they take three",
	    OPTIONS_NUMBER(signed_number, "signed number", -5, INT64_MAX),
	    .range = "a number from -5" },
	{ 0, "size", "BYTES", "a size", OPTIONS_SIZE(size, "size") },
	{ 0, "big", "BYTES", "a large size", OPTIONS_SIZE_IN(big, "big size",
	    1 << 20, 1 << 30, "in 1M..1G") },
	{ 0, "power", "BYTES", "a power of two", OPTIONS_POWER(power, "power",
	    512, 1 << 20, "a power of two from 512 to 1M") },
	{ 0, "seconds", "S", "a time", OPTIONS_SECONDS(seconds, "time") },
	{ 'p', "threads", "N", "threads", OPTIONS_THREADS(threads, 8) },
	{ 'l', "list", "ITEM", "may be repeated", OPTIONS_LIST(list) },
	{ 'c', "call", "[=VALUE]", "", OPTIONS_CALL(call) },
	{ 0, "seven", NULL, NULL, OPTIONS_CALL_WITH(call_with, 7) },
	{ 0, "two", "TEXT", NULL, OPTIONS_CALL_TEXT(call_text, "the") },
	{ 0, "or", "[=TEXT]", NULL, OPTIONS_TEXT_OR(text, "-") },
	{ 'x', "leave", NULL, "first names only", OPTIONS_CALL(leave) },
	{ 's', "first", NULL, "known to one", OPTIONS_CALL(leave),
	    .mask = FIRST },
	{ 's', "second", "STYLE", "known to the other",
	    OPTIONS_TEXT(style), .mask = SECOND },
	{ 0, "third", NULL, NULL, OPTIONS_FLAG(found), .mask = SECOND },
	{ 0, "a-name-that-is-far-too-long", "VALUE", "a line of its own",
	    OPTIONS_FLAG(found) },
	{ 0, NULL, NULL, "\nThe end:\n", OPTIONS_NOTE },
	{ 'h', "help", NULL, "show this", OPTIONS_HELP },
};

/* Where standard error goes while a command line is parsed. */
static char said[1024];

/* Parses words, which end with NULL; `said` is what is written meanwhile. */
static int
parse(struct tool *t, struct options *o, ...)
{
	static char tool[] = "tool";
	char *argv[WORDS + 1] = { tool };
	int argc = 1, status, saved = dup(2);
	FILE *file = fdopen(memfd_create("said", MFD_CLOEXEC), "w+");
	va_list ap;

	va_start(ap, o);
	while (argc < WORDS && (argv[argc] = va_arg(ap, char *)) != NULL)
		argc++;
	va_end(ap);
	assert_non_null(file);
	*t = (struct tool){ .clear = true };
	msg_init(&t->msg, argv[0]);
	*o = (struct options){ .msg = &t->msg, .into = t,
	    OPTIONS_TABLE(table), .usage = "usage: tool\n",
	    .about = "Is tested.\n", .mask = o->mask, .scan = o->scan };
	optind = 0;
	assert_int_equal(dup2(fileno(file), 2), 2);
	status = options_parse(o, argc, argv);
	fflush(stderr);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
	return status;
}

/* As above, with any options of getopt's. */
#define PARSE(...) \
	parse(&t, &(struct options){ .mask = FIRST }, __VA_ARGS__, NULL)

static void
kinds(void **state)
{
	struct tool t;

	(void)state;
	assert_int_equal(PARSE("-fvv", "--verbose"), -1);
	assert_true(t.flag && t.clear && !t.given);
	assert_int_equal(t.msg.verbose, 3);
	assert_int_equal(PARSE("--no-clear"), -1);
	assert_true(!t.clear && t.given && !t.flag);
	assert_int_equal(PARSE("-tx", "--green"), -1);
	assert_string_equal(t.text, "x");
	assert_int_equal(t.tint, GREEN);
	assert_int_equal(PARSE("--another", "y"), -1);
	assert_string_equal(t.text, "y");
	assert_int_equal(PARSE("--text=1", "--maybe"), -1);
	assert_true(t.text == NULL && t.given);
	assert_int_equal(PARSE("--maybe=2"), -1);
	assert_string_equal(t.text, "2");
	assert_int_equal(PARSE("--word", "three", "--color=blue"), -1);
	assert_string_equal(t.word, "three");
	assert_int_equal(t.color, BLUE);
	assert_int_equal(PARSE("--color=red", "--small=small"), -1);
	assert_int_equal(t.color, RED);
	assert_true(t.small);
	assert_int_equal(PARSE("--small", "small", "--small", "large"), -1);
	assert_false(t.small);
	assert_int_equal(PARSE("-n4294967295", "--signed=-5"), -1);
	assert_int_equal(t.number, UINT32_MAX);
	assert_int_equal(t.signed_number, -5);
	assert_int_equal(PARSE("--size=3K", "--big=1G", "--power=4k"), -1);
	assert_int_equal(t.size, 3072);
	assert_int_equal(t.big, 1 << 30);
	assert_int_equal(t.power, 4096);
	assert_int_equal(PARSE("--seconds", "0.5", "-p8"), -1);
	assert_true(t.seconds > 0.49 && t.seconds < 0.51);
	assert_int_equal(t.threads, 8);
	assert_int_equal(PARSE("-c"), -1);
	assert_string_equal(t.called, "none");
	assert_int_equal(PARSE("--call=it"), -1);
	assert_string_equal(t.called, "it");
	assert_int_equal(PARSE("--seven"), -1);
	assert_string_equal(t.called, "7");
	assert_int_equal(PARSE("--two=end", "--or"), -1);
	assert_string_equal(t.called, "the end");
	assert_string_equal(t.text, "-");
	assert_int_equal(PARSE("-x", "--nonsense"), 42);
	assert_string_equal(said, "");
}

static void
lists(void **state)
{
	struct tool t;

	(void)state;
	assert_int_equal(PARSE("-l", "a", "--list=b", "-lc"), -1);
	assert_int_equal(t.list.count, 3);
	assert_string_equal(t.list.items[0], "a");
	assert_string_equal(t.list.items[1], "b");
	assert_string_equal(t.list.items[2], "c");
	sys_free(t.list.items);
}

/* Each value outside its limits is an error, and names what is valid. */
static void
limits(void **state)
{
	static const struct {
		const char *word;
		const char *says;
	} wrong[] = {
		{ "--word=on", "word 'on' is not one, two or three" },
		{ "--word=", "word '' is not one, two or three" },
		{ "--word=one,", "word 'one,' is not one, two or three" },
		{ "--color=pink", "color 'pink' is not red, green or blue" },
		{ "--small=medium", "size 'medium' is not large or small" },
		{ "-n0", "number '0' is not in 1..4294967295" },
		{ "-n4294967296", "number '4294967296' is not in "
		    "1..4294967295" },
		{ "-nx", "number 'x' is not a number" },
		{ "--signed=-6", "signed number '-6' is not a number from "
		    "-5" },
		{ "--size=x", "size 'x' is not a number of bytes" },
		{ "--size=-1", "size '-1' is not a number of bytes" },
		{ "--big=1023K", "big size '1023K' is not in 1M..1G" },
		{ "--big=1073741825", "big size '1073741825' is not in "
		    "1M..1G" },
		{ "--power=256", "power '256' is not a power of two from 512 "
		    "to 1M" },
		{ "--power=2M", "power '2M' is not a power of two from 512 "
		    "to 1M" },
		{ "--power=1000", "power '1000' is not a power of two from "
		    "512 to 1M" },
		{ "--seconds=0", "time '0' is not a number of seconds above "
		    "0.001" },
		{ "-p0", "number of threads '0' is not in 1..8 (omit it to "
		    "use all CPUs)" },
		{ "-p9", "number of threads '9' is not in 1..8" },
		{ "--call=bad", "thing 'bad' is not good" },
	};
	struct tool t;
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(PARSE(wrong[i].word), MSG_ERROR);
		snprintf(line, sizeof(line), "tool: %s\n", wrong[i].says);
		assert_string_equal(said, line);
		assert_int_equal(t.msg.status, MSG_ERROR);
	}
}

static void
mistakes(void **state)
{
	struct tool t;

	(void)state;
	assert_int_equal(PARSE("--text"), MSG_ERROR);
	assert_string_equal(said, "tool: option '--text' requires an argument\n"
	    "Try 'tool --help'.\n");
	assert_int_equal(PARSE("-n"), MSG_ERROR);
	assert_string_equal(said, "tool: option requires an argument -- 'n'\n"
	    "Try 'tool --help'.\n");
	assert_int_equal(PARSE("--flag=1"), MSG_ERROR);
	assert_string_equal(said, "tool: option '--flag' doesn't allow an "
	    "argument\nTry 'tool --help'.\n");
	assert_int_equal(PARSE("--help=1"), MSG_ERROR);
	assert_string_equal(said, "tool: option '--help' doesn't allow an "
	    "argument\nTry 'tool --help'.\n");
	assert_int_equal(PARSE("--colour=red"), MSG_ERROR);
	assert_string_equal(said, "tool: unrecognized option '--colour=red'\n"
	    "Did you mean '--color'?  Try 'tool --help'.\n");
	assert_int_equal(PARSE("-Q"), MSG_ERROR);
	assert_string_equal(said, "tool: invalid option -- 'Q'\n"
	    "Try 'tool --help'.\n");
	/* a note is not an option */
	assert_int_equal(PARSE("--heading"), MSG_ERROR);
}

static void
abbreviations(void **state)
{
	struct tool t;

	(void)state;
	assert_int_equal(PARSE("--no-c", "--thr=3", "--verb"), -1);
	assert_true(!t.clear);
	assert_int_equal(t.threads, 3);
	assert_int_equal(t.msg.verbose, 1);
	/* two names of one option are not ambiguous, but two options are */
	assert_int_equal(PARSE("--anoth=z"), -1);
	assert_int_equal(PARSE("--s=1"), MSG_ERROR);
	assert_string_equal(said, "tool: option '--s=1' is ambiguous; "
	    "possibilities: '--seconds' '--seven' '--signed' '--size' "
	    "'--small'\n"
	    "Try 'tool --help'.\n");
}

static void
operands(void **state)
{
	struct options o = { .scan = "+" };
	struct tool t;

	(void)state;
	assert_int_equal(PARSE("a", "-f", "b", "--", "-v"), -1);
	assert_true(t.flag);
	assert_int_equal(optind, 3);
	assert_int_equal(t.msg.verbose, 0);
	assert_int_equal(parse(&t, &o, "-f", "a", "-v", NULL), -1);
	assert_true(t.flag);
	assert_int_equal(optind, 2);
	assert_int_equal(t.msg.verbose, 0);
}

/* A row may be known to one program, or foreign to one format. */
static void
masks(void **state)
{
	struct options o = { .mask = SECOND };
	struct tool t;

	(void)state;
	assert_int_equal(PARSE("-s"), 42);
	assert_int_equal(PARSE("--first"), 42);
	assert_int_equal(PARSE("--second=x"), MSG_ERROR);
	assert_int_equal(parse(&t, &o, "-sx", NULL), -1);
	assert_string_equal(t.style, "x");
	assert_int_equal(parse(&t, &o, "--first", NULL), MSG_ERROR);

	o.mask = 0;
	assert_int_equal(parse(&t, &o, "-f", "--third", NULL), -1);
	assert_null(options_foreign(&o, SECOND));
	assert_string_equal(options_foreign(&o, FIRST)->name, "third");
	assert_int_equal(parse(&t, &o, "-f", NULL), -1);
	assert_null(options_foreign(&o, 0));
}

static void
help(void **state)
{
	static const char want[] =
	    "usage: tool\n"
	    "\n"
	    "Is tested.\n"
	    "\n"
	    "  -f, --no-clear   two options on one line\n"
	    "  heading          a line that is no option\n"
	    "  -t, --text TEXT  any text\n"
	    "  --maybe[=TEXT]   any text or none\n"
	    "  --word WORD      a word\n"
	    "  --color COLOR    a color\n"
	    "  --small SIZE     large or small\n"
	    "  -n, --number N   a number\n"
	    "  --signed N       a number that is described by words that do "
	    "not fit in one\n"
	    "                   line, nor, since they go on for long, in two "
	    "lines, so that\n"
	    "                   they take three\n"
	    "  --size BYTES     a size\n"
	    "  --big BYTES      a large size\n"
	    "  --power BYTES    a power of two\n"
	    "  --seconds S      a time\n"
	    "  -p, --threads N  threads\n"
	    "  -l, --list ITEM  may be repeated\n"
	    "  -c, -x           first names only\n"
	    "  -s, --first      known to one\n"
	    "  --a-name-that-is-far-too-long VALUE\n"
	    "                   a line of its own\n"
	    "\n"
	    "The end:\n"
	    "  -h, --help       show this\n";
	struct options o = { .mask = FIRST };
	struct tool t;
	FILE *file = fdopen(memfd_create("said", MFD_CLOEXEC), "w+");
	char text[4096];

	(void)state;
	assert_int_equal(parse(&t, &o, NULL), -1);
	assert_non_null(file);
	options_show(&o, file);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(lists),
		cmocka_unit_test(limits),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(abbreviations),
		cmocka_unit_test(operands),
		cmocka_unit_test(masks),
		cmocka_unit_test(help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
