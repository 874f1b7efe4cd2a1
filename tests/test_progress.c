/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/progress.h"

#include "base/sys.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static int terminal, user;	/* both ends of a pseudo terminal */

static int
setup(void **state)
{
	(void)state;
	user = posix_openpt(O_RDWR | O_NOCTTY);
	if (user == -1 || grantpt(user) == -1 || unlockpt(user) == -1)
		return 1;
	terminal = open(ptsname(user), O_RDWR | O_NOCTTY);
	return terminal == -1;
}

static int
teardown(void **state)
{
	(void)state;
	return close(terminal) == -1 || close(user) == -1;
}

/* Returns what has been shown to the user since the last call. */
static const char *
seen(void)
{
	static char text[1024];
	struct pollfd p = { .fd = user, .events = POLLIN };
	size_t n = 0;

	while (poll(&p, 1, 0) == 1 && n < sizeof(text) - 1) {
		ssize_t got = read(user, text + n, sizeof(text) - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
	}
	text[n] = '\0';
	return text;
}

/* Acts as if everything had happened that much earlier. */
static void
wait_ns(struct progress *p, int64_t ns)
{
	p->start_ns -= ns;
	p->drawn_ns -= ns;
}

static void
text_is(uint64_t done, uint64_t total, uint64_t ns, const char *want)
{
	char text[100];

	assert_int_equal(progress_text(text, sizeof(text), done, total, ns),
	    strlen(want));
	assert_string_equal(text, want);
}

static void
says_what_is_known(void **state)
{
	char text[10];

	(void)state;
	text_is(0, 1000, 0, "  0.0 %         0 B         0 B/s  ? left");
	text_is(512, 1024, SECOND,
	    " 50.0 %       512 B       512 B/s  0:01 left");
	text_is(1 << 30, UINT64_C(10) << 30, 2 * SECOND,
	    " 10.0 %    1.00 GiB     512 MiB/s  0:18 left");
	text_is(1 << 20, UINT64_C(4) << 30, SECOND,
	    "  0.0 %    1.00 MiB    1.00 MiB/s  1:08:15 left");
	text_is(1, UINT64_MAX, 100 * SECOND,
	    "  0.0 %         1 B         0 B/s  ? left");
	text_is(UINT64_MAX, UINT64_MAX, SECOND,
	    "100.0 %    16.0 EiB    16.0 EiB/s  0:00 left");
	text_is(1023, 0, 10 * SECOND, "  1.00 KiB       102 B/s");
	text_is(1001, 1000, SECOND, "  0.98 KiB    0.98 KiB/s");
	assert_int_equal(progress_text(text, sizeof(text), 1, 0, 1), 9);
	assert_int_equal(strlen(text), 9);
}

static void
is_drawn_when_it_is_time(void **state)
{
	struct progress p;

	(void)state;
	progress_start(&p, terminal, 1000, false);
	/* far from due, however slow the machine */
	p.start_ns += 3600 * SECOND;
	progress_add(&p, 250);
	progress_draw(&p);
	assert_string_equal(seen(), "");
	/*
	 * due because of the last line, not because of the start, unless that
	 * took a second
	 */
	p.start_ns = (int64_t)sys_now_ns();
	p.drawn_ns -= SECOND;
	progress_draw(&p);
	assert_true(p.width == 0 ||
	    (int64_t)sys_now_ns() >= p.start_ns + SECOND);
	seen();
	p.start_ns -= 3602 * SECOND;
	p.drawn_ns -= SECOND;
	progress_draw(&p);
	assert_non_null(strstr(seen(), " 25.0 % "));
	p.drawn_ns += 3600 * SECOND;
	progress_add(&p, 250);
	progress_draw(&p);
	assert_string_equal(seen(), "");
	p.drawn_ns -= 3601 * SECOND;
	progress_draw(&p);
	assert_non_null(strstr(seen(), " 50.0 % "));
	progress_erase(&p);
	progress_erase(&p);
}

static void
leaves_an_empty_line(void **state)
{
	struct progress p;
	const char *text;
	size_t drawn, blanks;

	(void)state;
	seen();
	progress_start(&p, terminal, 0, false);
	progress_erase(&p);
	assert_string_equal(seen(), "");
	wait_ns(&p, 10 * SECOND);
	progress_draw(&p);
	drawn = strlen(seen()) - 2;
	progress_erase(&p);
	text = seen();
	blanks = strspn(text + 1, " ");
	assert_true(drawn > 10 && text[0] == '\r');
	assert_int_equal(blanks, drawn);
	assert_string_equal(text + 1 + blanks, "\r");
}

static void
fits_the_terminal(void **state)
{
	struct winsize w = { .ws_col = 20, .ws_row = 5 };
	struct progress p;

	(void)state;
	seen();
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &w), 0);
	progress_start(&p, terminal, 1000, false);
	wait_ns(&p, 10 * SECOND);
	progress_draw(&p);
	assert_int_equal(strlen(seen()), 19 + 2);
}

static void
is_silent(void **state)
{
	struct progress p;
	int pair[2];
	char c;

	(void)state;
	seen();
	progress_start(&p, terminal, 1000, true);
	wait_ns(&p, 10 * SECOND);
	progress_draw(&p);
	progress_erase(&p);
	assert_string_equal(seen(), "");
	assert_int_equal(pipe2(pair, O_NONBLOCK), 0);
	progress_start(&p, pair[1], 1000, false);
	wait_ns(&p, 10 * SECOND);
	progress_draw(&p);
	progress_erase(&p);
	assert_int_equal(read(pair[0], &c, 1), -1);
	close(pair[0]);
	close(pair[1]);
	progress_start(&p, -1, 1000, false);
	progress_draw(&p);
}

/*
 * Runs a session with this terminal.  Returns 0 if the line is drawn correctly.
 */
static int
in_session(bool background)
{
	struct progress p;
	int status = 1;
	pid_t pid;

	if (setsid() == -1 || ioctl(terminal, TIOCSCTTY, 0) == -1)
		return 2;
	pid = fork();
	if (pid == 0) {
		if (background && setpgid(0, 0) == -1)
			_exit(3);
		progress_start(&p, terminal, 0, false);
		wait_ns(&p, 10 * SECOND);
		progress_draw(&p);
		_exit((p.width == 0) != background);
	}
	return waitpid(pid, &status, 0) == pid ? status : 4;
}

static void
is_not_drawn_in_the_background(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		int status = 1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(in_session(i == 0) != 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		/* the end of a session hangs up the terminal */
		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
	}
}

static void *
add_many(void *p)
{
	for (int i = 0; i < 10000; i++)
		progress_add(p, 3);
	return NULL;
}

static void
counts_from_every_thread(void **state)
{
	struct progress p;
	pthread_t t[4];

	(void)state;
	progress_start(&p, terminal, 0, false);
	wait_ns(&p, 10 * SECOND);
	for (int i = 0; i < 4; i++)
		assert_int_equal(sys_thread(&t[i], add_many, &p), 0);
	for (int i = 0; i < 100; i++)
		progress_draw(&p);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(atomic_load(&p.done_B), 120000);
}

static void *
draw_and_erase(void *arg)
{
	struct progress *p = arg;

	for (int i = 0; i < 100; i++) {
		progress_draw(p);
		progress_erase(p);
	}
	return NULL;
}

static void
is_erased_by_any_thread(void **state)
{
	struct progress p;
	pthread_t t[2];
	const char *text;

	(void)state;
	progress_start(&p, terminal, 0, false);
	wait_ns(&p, 10 * SECOND);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sys_thread(&t[i], draw_and_erase, &p), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	text = seen();
	assert_non_null(strstr(text, "/s"));
	/* blanks over the last line, between two carriage returns */
	assert_string_equal(text + strlen(text) - 2, " \r");
	assert_int_equal(p.width, 0);
}

static void
is_nothing_before_the_start(void **state)
{
	struct progress p = { .width = 0 };

	(void)state;
	progress_draw(&p);
	progress_erase(&p);
	assert_string_equal(seen(), "");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_is_known),
		cmocka_unit_test(is_drawn_when_it_is_time),
		cmocka_unit_test(leaves_an_empty_line),
		cmocka_unit_test(fits_the_terminal),
		cmocka_unit_test(is_silent),
		cmocka_unit_test(is_not_drawn_in_the_background),
		cmocka_unit_test(counts_from_every_thread),
		cmocka_unit_test(is_erased_by_any_thread),
		cmocka_unit_test(is_nothing_before_the_start),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
