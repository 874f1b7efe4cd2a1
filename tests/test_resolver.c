/* SPDX-License-Identifier: BSD-2-Clause */
#include "http_client.h"

#include "base/sandbox.h"
#include "lazy/http/resolver.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

static bool has_hosts;		/* whether made.example has addresses */

/* What has been added to the time */
static uint64_t later_ns;

uint64_t __real_sys_now_ns(void);
uint64_t __wrap_sys_now_ns(void);

uint64_t
__wrap_sys_now_ns(void)
{
	return __real_sys_now_ns() + later_ns;
}

/* In a namespace of its own, this process has another /etc/hosts. */
static int
set_up_hosts(void **state)
{
	char hosts[SCRATCH_B + 8];
	FILE *f;

	if (set_up(state) != 0)
		return -1;
	snprintf(hosts, sizeof(hosts), "%s/hosts", dir);
	f = fopen(hosts, "w");
	if (f == NULL)
		return -1;
	fprintf(f, "127.0.0.1 made.example localhost\n"
	    "127.0.0.3 made.example\n::1 six.example\n");
	fclose(f);
	has_hosts = unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER |
	    CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE,
	    NULL) == 0 && mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
	return 0;
}

static int
tear_down_hosts(void **state)
{
	char hosts[SCRATCH_B + 8];

	if (has_hosts)
		umount("/etc/hosts");
	snprintf(hosts, sizeof(hosts), "%s/hosts", dir);
	unlink(hosts);
	return tear_down(state);
}

/* The only child of this process. */
static pid_t
child(void)
{
	char name[64];
	int pid = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/children", getpid());
	f = fopen(name, "r");
	if (f != NULL) {
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	return pid;
}

static struct resolver *
started(void)
{
	struct resolver *r;

	assert_int_equal(resolver_start(&r), 0);
	return r;
}

static void
test_finds(void **state)
{
	struct resolver *r = started();
	char text[RESOLVER_TEXT], host[RESOLVER_HOST + 1];

	(void)state;
	/* more than are kept */
	for (int round = 0; round < 2; round++)
		for (int i = 1; i < 50; i++) {
			snprintf(host, sizeof(host), "127.0.0.%d", i);
			assert_int_equal(resolver_find(r, host, 60000, text),
			    0);
			assert_string_equal(text, host);
		}
	assert_int_equal(resolver_find(r, "::1", 60000, text), 0);
	assert_string_equal(text, "[::1]");
	memset(host, 'a', RESOLVER_HOST);
	host[RESOLVER_HOST] = '\0';
	assert_int_equal(resolver_find(r, host, 60000, text), -ENOENT);
	assert_string_equal(text, "");
	resolver_stop(r);
}

static void
test_hosts(void **state)
{
	struct resolver *r;
	char text[RESOLVER_TEXT];

	(void)state;
	if (!has_hosts) {
		puts("# no namespace for another /etc/hosts");
		skip();
	}
	r = started();
	assert_int_equal(resolver_find(r, "made.example", 60000, text), 0);
	assert_string_equal(text, "127.0.0.1,127.0.0.3");
	assert_int_equal(resolver_find(r, "six.example", 60000, text), 0);
	assert_string_equal(text, "[::1]");
	/* kept, even if it could not be asked again */
	assert_int_equal(kill(child(), SIGKILL), 0);
	assert_int_equal(resolver_find(r, "made.example", 60000, text), 0);
	assert_string_equal(text, "127.0.0.1,127.0.0.3");
	assert_int_equal(resolver_find(r, "127.0.0.9", 60000, text), -EPIPE);
	assert_string_equal(text, "");
	resolver_stop(r);
}

/* What was found stays in use while nobody says anything else. */
static void
test_stale(void **state)
{
	struct resolver *r = started();
	char text[RESOLVER_TEXT];

	(void)state;
	assert_int_equal(resolver_find(r, "127.0.0.1", 60000, text), 0);
	assert_int_equal(kill(child(), SIGKILL), 0);
	later_ns += 3600 * UINT64_C(1000000000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(resolver_find(r, "127.0.0.1", 60000, text), 0);
		assert_string_equal(text, "127.0.0.1");
		assert_int_equal(resolver_find(r, "127.0.0.2", 60000, text),
		    i == 0 ? -EPIPE : -ENOENT);
		assert_string_equal(text, "");
	}
	resolver_stop(r);
}

/* An answer that comes too late is not taken for that to the next question. */
static void
test_late(void **state)
{
	struct resolver *r = started();
	char text[RESOLVER_TEXT];

	(void)state;
	assert_int_equal(kill(child(), SIGSTOP), 0);
	assert_int_equal(resolver_find(r, "127.0.0.1", 100, text), -ETIMEDOUT);
	assert_string_equal(text, "");
	assert_int_equal(kill(child(), SIGCONT), 0);
	assert_int_equal(resolver_find(r, "127.0.0.2", 60000, text), 0);
	assert_string_equal(text, "127.0.0.2");
	resolver_stop(r);
}

/* The process has nothing of ours, and ends with us. */
static void
test_process(void **state)
{
	char name[64], text[RESOLVER_TEXT];
	struct resolver *r = started();
	struct dirent *e;
	int ends[2], count = 0;
	pid_t pid;
	DIR *d;

	(void)state;
	assert_int_equal(resolver_find(r, "127.0.0.1", 60000, text), 0);
	snprintf(name, sizeof(name), "/proc/%d/fd", child());
	d = opendir(name);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		count += e->d_name[0] != '.';
	closedir(d);
	assert_int_equal(count, 4);
	resolver_stop(r);
	assert_int_equal(child(), 0);

	/* its end of the pipe is closed when it ends */
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (resolver_start(&r) == 0) {
			pid = child();
			if (write(ends[1], &pid, sizeof(pid)) < 0)
				_exit(1);
		}
		raise(SIGKILL);
	}
	assert_int_equal(read(ends[0], &count, sizeof(count)), sizeof(count));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 600 && kill(count, 0) == 0; i++) {
		FILE *f;
		char end = '?';

		snprintf(name, sizeof(name), "/proc/%d/stat", count);
		f = fopen(name, "r");
		if (f != NULL && fscanf(f, "%*d (%*[^)]) %c", &end) == 1 &&
		    end == 'Z')
			count = 0;	/* nobody reaps it here */
		if (f != NULL)
			fclose(f);
		if (count == 0)
			break;
		usleep(100000);
	}
	assert_true(count == 0 || kill(count, 0) == -1);
	close(ends[0]);
	close(ends[1]);
}

/* A confined client reads from a server that it knows by name. */
static int
read_by_name(bool helped)
{
	char url[64], why[LAYER_WHY];
	struct http_options o = { .timeout_s = SHORT_S,
		.connections = CONNECTIONS, .credentials = "user:password",
		.credentials_for = url };
	static const char *const places[] = { "/usr", "/lib", "/lib64" };
	const char *ca_file, *ca_dir;
	int dirs[3];
	size_t count = 0;
	bool confined, right;
	struct client c = { .one = false };

	if (helped && resolver_start(&o.resolver) != 0)
		return 1;
	http_prepare(&ca_file, &ca_dir);
	for (int i = 0; i < 3; i++) {
		dirs[count] = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		count += dirs[count] != -1;
	}
	if (sandbox_enter_fetching(-1, dirs, count, &confined) != 0)
		return 2;
	if (!confined)
		return 77;
	snprintf(url, sizeof(url), "http://made.example:%u/blob",
	    server_port(server));
	if (http_open(&c.h, &o, why) != 0 ||
	    http_object_open(&c.o, c.h, url) != 0)
		return 3;
	if (read_some(&c, 1, &right) != 0 || !right)
		return 4;
	client_close(&c);
	resolver_stop(o.resolver);
	return 0;
}

static void
test_confined(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (!has_hosts)
		skip();
	server_set(server, SERVER_HANDS_ON, 1);
	for (int helped = 0; helped < 2; helped++) {
		pid = fork();
		if (pid == 0)
			_exit(read_by_name(helped));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77) {
			puts("# no Landlock in this kernel");
			skip();
		}
		assert_int_equal(WEXITSTATUS(status), helped ? 0 : 4);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_confined),
	};

	return cmocka_run_group_tests(tests, set_up_hosts, tear_down_hosts);
}
