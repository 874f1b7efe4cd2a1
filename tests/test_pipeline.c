/*
 * test_pipeline.c - order, bounds and errors of the pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pipeline/pipeline.h"

#include "base/bytes.h"
#include "sys_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { PIECES = 500, SLOTS = 6 };

/* Piece k holds the number k; work squares it, occasionally slowly. */
struct job {
	unsigned pieces, fail_fill, fail_work, fail_join;
	unsigned filled, joined;
	unsigned await;		/* workers that must have been started */
	atomic_uint in_flight, most, contexts, started;
	bool later;		/* finish squares it */
	uint32_t check;		/* of all of the output */
};

/* A checksum that depends on the order of the bytes. */
static uint32_t
add_check(uint32_t check, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		check = check * 31 + p[i];
	return check;
}

static unsigned long
combine_checks(unsigned long a, unsigned long b, off_t len)
{
	while (len-- > 0)
		a = a * 31 & UINT32_MAX;
	return (a + b) & UINT32_MAX;
}

static const struct sink_check check = { .add = add_check,
    .combine = combine_checks };

static int
fill(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;
	unsigned k = j->filled++, now = atomic_fetch_add(&j->in_flight, 1) + 1;

	(void)in;
	if (now > atomic_load(&j->most))
		atomic_store(&j->most, now);
	assert_int_equal(s->seq, k);
	if (buf_reserve(&s->in, 8) != 0)
		return -ENOMEM;
	store_le64(s->in.data, k);
	s->in.len = 8;
	s->last = k + 1 == j->pieces;
	return k + 1 == j->fail_fill ? -EIO : 0;
}

static int
worker_open(void *job, void **ctx)
{
	struct job *j = job;

	atomic_fetch_add(&j->contexts, 1);
	atomic_fetch_add(&j->started, 1);
	*ctx = j;
	return 0;
}

static void
worker_close(void *ctx)
{
	struct job *j = ctx;

	atomic_fetch_sub(&j->contexts, 1);
}

/*
 * Takes some microseconds, and lets another thread run.  A thread that yields may
 * wait for a whole time slice of other programs, so it does so once.
 */
static void
dawdle(void)
{
	static _Atomic unsigned beats;

	for (int i = 0; i < 2000; i++)
		atomic_fetch_add(&beats, 1);
	sched_yield();
}

static int
work(void *job, void *ctx, struct slot *s)
{
	struct job *j = job;
	uint64_t k = load_le64(s->in.data);

	assert_ptr_equal(job, ctx);
	while (atomic_load(&j->started) < j->await)
		sched_yield();
	if (k % 7 == 0)
		dawdle();
	if (buf_reserve(&s->out, 8) != 0)
		return -ENOMEM;
	store_le64(s->out.data, j->later ? k : k * k);
	s->out.len = 8;
	return k + 1 == j->fail_work ? -EBADMSG : 0;
}

static uint32_t
finish(void *job, void *ctx, struct slot *s)
{
	uint64_t k = load_le64(s->out.data);

	assert_ptr_equal(job, ctx);
	if (k % 5 == 0)
		dawdle();
	store_le64(s->out.data, k * k);
	return add_check(0, s->out.data, 8);
}

/* Leaves two of three pieces to finish, all of them to be checked. */
static int
join_later(struct job *j, struct slot *s, struct sink *out)
{
	uint64_t k = load_le64(s->out.data);
	bool last = s->last;
	int rc;

	if (k == 0)
		sink_check_begin(out, &check, 0);
	if (k % 3 == 0) {
		store_le64(s->out.data, k * k);
		rc = sink_write(out, s->out.data, 8);
	} else {
		rc = sink_slot_later(out, s);
	}
	if (last)
		j->check = sink_check_end(out);
	return rc;
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;

	assert_int_equal(s->seq, j->joined);
	j->joined++;
	atomic_fetch_sub(&j->in_flight, 1);
	if (j->joined == j->fail_join)
		return -ENODATA;
	if (j->later)
		return join_later(j, s, out);
	/* copies every third piece, and passes the others on whole */
	if (s->seq % 3 == 0)
		return sink_write(out, s->out.data, 8);
	return sink_slot(out, s);
}

static const struct pipeline_ops ops = { .fill = fill, .work = work,
    .join = join, .finish = finish, .worker_open = worker_open, .worker_close = worker_close };

static int
run(struct job *j, unsigned threads, int fd, struct pipeline_stats *stats)
{
	struct pipeline_params params = { .threads = threads, .slots = SLOTS,
	    .out_fd = fd };
	struct input in;
	int empty = memfd_create("empty", 0), rc;

	memset(stats, 0, sizeof(*stats));
	assert_int_equal(input_open(&in, empty), 0);
	rc = pipeline_run(&ops, j, &in, &params, stats);
	input_close(&in);
	close(empty);
	assert_int_equal(j->contexts, 0);
	assert_true(j->most <= SLOTS);
	return rc;
}

/* A thousand threads are no more than there are pieces, but as many. */
static void
on_demand(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= SLOTS; n++) {
		struct job j = { .pieces = n, .await = n };
		struct pipeline_stats stats;

		assert_int_equal(run(&j, 1000, -1, &stats), 0);
		assert_int_equal(j.started, n);
	}
	for (unsigned threads = 1; threads <= SLOTS; threads++) {
		struct job j = { .pieces = PIECES, .await = threads };
		struct pipeline_stats stats;

		assert_int_equal(run(&j, threads, -1, &stats), 0);
		assert_int_equal(j.started, threads);
	}
}

static void
keeps_order(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		for (unsigned n = 1; n <= PIECES; n += 83) {
			struct job j = { .pieces = n };
			struct pipeline_stats stats;
			int fd = memfd_create("out", 0);
			uint8_t p[8];

			assert_int_equal(run(&j, threads, fd, &stats), 0);
			assert_int_equal(stats.out_bytes, 8 * n);
			for (uint64_t k = 0; k < n; k++) {
				assert_int_equal(pread(fd, p, 8,
				    (off_t)(8 * k)), 8);
				assert_int_equal(load_le64(p), k * k);
			}
			close(fd);
		}
	}
}

/*
 * Whatever the timing, the error reported is the first one in the order of the
 * pieces.
 */
/* What is finished later comes out in order, and is part of the checksum. */
static void
finishes_later(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= SLOTS; threads++) {
		struct job j = { .pieces = PIECES, .later = true };
		struct pipeline_stats stats;
		int fd = memfd_create("out", 0);
		uint64_t got[PIECES];
		uint32_t all;

		assert_int_equal(run(&j, threads, fd, &stats), 0);
		assert_int_equal(pread(fd, got, sizeof(got), 0), sizeof(got));
		for (uint64_t k = 0; k < PIECES; k++)
			assert_int_equal(got[k], BYTES_LE(64, k * k));
		all = add_check(0, got, sizeof(got));
		assert_int_equal(j.check, all);
		close(fd);
	}
}

/* No run does without any of its memory. */
static void
no_memory(void **state)
{
	static const struct pipeline_params params = { .threads = 2,
		.slots = SLOTS, .out_fd = -1 };
	unsigned k = 1;

	(void)state;
	for (int rc = -ENOMEM; rc != 0; k++) {
		struct job j = { .pieces = 3 * SLOTS, .later = true };
		struct pipeline_stats stats = { 0 };
		long blocks = fault_blocks();
		struct input in;
		char call[32];
		int empty = memfd_create("empty", 0);

		assert_int_equal(input_open(&in, empty), 0);
		snprintf(call, sizeof(call), "malloc:%u:ENOMEM", k);
		assert_true(fault_plan(call));
		rc = pipeline_run(&ops, &j, &in, &params, &stats);
		assert_true(fault_plan(""));
		input_close(&in);
		close(empty);
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_int_equal(fault_blocks(), blocks);
		assert_int_equal(j.contexts, 0);
	}
	/* the slots, what is to be finished, the sink, and each slot's two */
	assert_true(k > 3 + 2 * SLOTS);
}

/* If a piece fails, those before it are finished nevertheless. */
static void
finishes_before_an_error(void **state)
{
	(void)state;
	for (unsigned k = 4; k < PIECES; k += 17) {
		struct job j = { .pieces = PIECES, .later = true,
		    .fail_join = k };
		struct pipeline_stats stats;
		int fd = memfd_create("out", 0);

		assert_int_equal(run(&j, 3, fd, &stats), -ENODATA);
		assert_int_equal(stats.out_bytes, 8 * (k - 1));
		assert_int_equal(lseek(fd, 0, SEEK_END), 8 * (k - 1));
		close(fd);
	}
}

static void
reports_the_first_error(void **state)
{
	struct pipeline_stats stats;

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct job a = { .pieces = 90, .fail_work = 60,
		    .fail_fill = 62 };
		struct job b = { .pieces = 90, .fail_work = 64,
		    .fail_fill = 62 };
		struct job c = { .pieces = 90, .fail_join = 1 };
		struct job d = { .pieces = 1, .fail_work = 1 };

		assert_int_equal(run(&a, threads, -1, &stats), -EBADMSG);
		assert_int_equal(a.joined, 59);
		assert_int_equal(run(&b, threads, -1, &stats), -EIO);
		assert_int_equal(run(&c, threads, -1, &stats), -ENODATA);
		assert_int_equal(run(&d, threads, -1, &stats), -EBADMSG);
		assert_int_equal(stats.failed, PIPELINE_IN);
	}
}

static void
a_failed_write_ends_it(void **state)
{
	struct job j = { .pieces = 1000000 };
	struct pipeline_stats stats;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run(&j, 2, fd[1], &stats), -EPIPE);
	assert_int_equal(stats.failed, PIPELINE_OUT);
	assert_true(j.filled < 1000000);
	close(fd[1]);
}

/* A reader that waits for a silent pipe is cancelled. */
static void
an_error_ends_a_wait(void **state)
{
	struct input in;
	uint8_t byte;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(input_open(&in, fd[0]), 0);
	input_cancel(&in);
	assert_int_equal(input_read(&in, &byte, 1), -ECANCELED);
	input_close(&in);
	close(fd[0]);
	close(fd[1]);
}

/* Reads two pieces, then one byte before the input stalls. */
static int
fill_then_wait(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;
	uint8_t byte;
	ssize_t n;

	if (j->filled < 2)
		return fill(job, in, s);
	n = input_read(in, &byte, 1);
	return n < 0 ? (int)n : 0;
}

static void *
close_later(void *arg)
{
	usleep(100000);
	close(*(int *)arg);
	return NULL;
}

/* The error occurs long after all earlier data has been joined. */
static void
a_late_failed_write_ends_a_wait(void **state)
{
	static const struct pipeline_ops waiting = { .fill = fill_then_wait,
	    .work = work, .join = join, .worker_open = worker_open,
	    .worker_close = worker_close };
	struct pipeline_stats stats = { 0 };
	struct job j = { .pieces = 1000 };
	struct input in;
	pthread_t closer;
	int silent[2], out[2];
	char full[4096] = { 0 };

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(silent), 0);
	assert_int_equal(pipe2(out, O_NONBLOCK), 0);
	fcntl(out[1], F_SETPIPE_SZ, 1 << 20);
	while (write(out[1], full, sizeof(full)) > 0)
		;
	assert_int_equal(fcntl(out[1], F_SETFL, 0), 0);
	assert_int_equal(input_open(&in, silent[0]), 0);
	assert_int_equal(pthread_create(&closer, NULL, close_later, &out[0]),
	    0);
	alarm(600);
	assert_int_equal(pipeline_run(&waiting, &j, &in,
	    &(struct pipeline_params){ .threads = 2, .slots = SLOTS,
	    .out_fd = out[1] }, &stats), -EPIPE);
	alarm(0);
	assert_int_equal(stats.failed, PIPELINE_OUT);
	pthread_join(closer, NULL);
	input_close(&in);
	close(silent[0]);
	close(silent[1]);
	close(out[1]);
}

static void
peeks_and_reads(void **state)
{
	const uint8_t *p;
	struct input in;
	uint8_t got[16];
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "abcdefgh", 8), 8);
	assert_int_equal(input_open(&in, fd[0]), 0);
	in.flush_ms = 1;
	assert_int_equal(input_peek(&in, 3, &p), 3);
	assert_memory_equal(p, "abc", 3);
	assert_int_equal(input_peek(&in, 5, &p), 5);
	assert_memory_equal(p, "abcde", 5);
	assert_int_equal(input_read(&in, got, 2), 2);
	/* no more data arrives: returns what has arrived, without eof */
	assert_int_equal(input_read(&in, got + 2, 14), 6);
	assert_false(in.eof);
	close(fd[1]);
	assert_int_equal(input_read(&in, got + 8, 8), 0);
	assert_true(in.eof);
	assert_memory_equal(got, "abcdefgh", 8);
	assert_int_equal(in.bytes, 8);
	input_close(&in);
	close(fd[0]);
}

/* A part of a file, and of one that has become shorter, with data and holes. */
static void
reads_a_part(void **state)
{
	enum { SIZE = 1 << 20 };
	int fd = memfd_create("part", MFD_CLOEXEC);
	struct input in;
	uint8_t b[100];

	(void)state;
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(pwrite(fd, "abcdefgh", 8, 0), 8);

	assert_int_equal(input_open(&in, fd), 0);
	assert_int_equal(input_limit(&in, 2, 4), 0);
	assert_int_equal(input_read(&in, b, sizeof(b)), 4);
	assert_memory_equal(b, "cdef", 4);
	assert_true(in.eof);
	assert_int_equal(input_read(&in, b, sizeof(b)), 0);
	input_close(&in);

	/* a hole that goes on is skipped up to the end of the part only */
	assert_int_equal(input_open(&in, fd), 0);
	assert_int_equal(input_limit(&in, SIZE / 2, 100), 0);
	assert_int_equal(input_skip_hole(&in, 101), 0);
	if (input_skip_hole(&in, 60) == 1)
		assert_int_equal(input_skip_hole(&in, 60), 0);
	input_close(&in);

	assert_int_equal(input_open(&in, fd), 0);
	assert_int_equal(input_limit(&in, SIZE - 50, 51), 0);
	assert_int_equal(input_read(&in, b, sizeof(b)), -ESTALE);
	input_close(&in);
	close(fd);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_order),
		cmocka_unit_test(finishes_later),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(finishes_before_an_error),
		cmocka_unit_test(on_demand),
		cmocka_unit_test(reports_the_first_error),
		cmocka_unit_test(a_failed_write_ends_it),
		cmocka_unit_test(an_error_ends_a_wait),
		cmocka_unit_test(a_late_failed_write_ends_a_wait),
		cmocka_unit_test(peeks_and_reads),
		cmocka_unit_test(reads_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
