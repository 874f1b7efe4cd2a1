/*
 * helpers.c - credentials from the programs that a file of credentials names
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program gets the server's name on its standard input, and writes JSON.  What
 * it writes there is never quoted, whatever its exit status, since it may be a
 * password.
 */
#include "lazy/http/helpers.h"

#include "aside.h"
#include "http_private.h"

#include "base/fdio.h"
#include "base/json.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOST_MAX = 256, NAME_MAX_B = 64, FILE_MAX_B = 1 << 20 };

#define PROGRAM "docker-credential-"

static const uint64_t second = 1000000000, millisecond = 1000000;

/* What the file and the programs say */

int
helpers_find(const char *text, size_t len, enum helpers_which which,
    const char *host, char **name, char why[LAYER_WHY])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *found = NULL;
	char unread[JSON_WHY];
	yajl_val root, all;
	int rc = json_parse(&root, text, len, unread);

	*name = NULL;
	*why = '\0';
	if (rc != 0)
		return rc;
	all = which == HELPERS_OF_HOST ? json_member(root, "credHelpers",
	    yajl_t_object) : NULL;
	if (which == HELPERS_OF_REST)
		found = json_text(root, "credsStore");
	for (size_t i = 0; all != NULL && found == NULL &&
	    i < YAJL_GET_OBJECT(all)->len; i++)
		if (http_auth_is_host(YAJL_GET_OBJECT(all)->keys[i], host) &&
		    YAJL_IS_STRING(YAJL_GET_OBJECT(all)->values[i]))
			found = YAJL_GET_STRING(YAJL_GET_OBJECT(all)->
			    values[i]);
	if (found == NULL || *found == '\0') {
		rc = -ENOENT;
	} else if (found[strspn(found, allowed)] != '\0' ||
	    strlen(found) > NAME_MAX_B) {
		snprintf(why, LAYER_WHY, "the name of a credential helper: "
		    "expected letters, digits, '.', '_' and '-', found "
		    "'%.80s'", found);
		rc = -EINVAL;
	} else {
		*name = strcopy(found);
		rc = *name == NULL ? -ENOMEM : 0;
	}
	yajl_tree_free(root);
	return rc;
}

int
helpers_parse(const char *text, size_t len, char **user, char **secret,
    char why[LAYER_WHY])
{
	char unread[JSON_WHY];
	const char *u, *s;
	yajl_val root;
	int rc = json_parse(&root, text, len, unread);

	*user = *secret = NULL;
	if (rc != 0) {
		/* the parser's first line quotes nothing of the text */
		snprintf(why, LAYER_WHY, "its answer is %.150s", unread);
		return rc;
	}
	u = json_text(root, "Username");
	s = json_text(root, "Secret");
	if (u == NULL || s == NULL) {
		snprintf(why, LAYER_WHY, "its answer has no Username or no "
		    "Secret");
		rc = -EBADMSG;
	} else if (*u == '\0' && *s == '\0') {
		rc = -ENOENT;
	} else {
		*user = strcopy(u);
		*secret = strcopy(s);
		rc = *user == NULL || *secret == NULL ? -ENOMEM : 0;
	}
	if (rc != 0) {
		helpers_forget(*user);
		helpers_forget(*secret);
		*user = *secret = NULL;
	}
	yajl_tree_free(root);
	return rc;
}

void
helpers_forget(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	sys_free(text);
}

/* Running a program */

struct program {
	const char *name;
	pid_t pid;
	int in, out, err, failed;	/* our ends of pipes */
	struct strbuf answer;
	char said[100];			/* the start of its messages */
	size_t said_len;
	int status;
	uint64_t end_ns;
};

/* In the child: the descriptors are its ends of the pipes. */
static void __attribute__((noreturn))
execute(const char *name, int in, int out, int err, int failed, pid_t parent)
{
	char program[sizeof(PROGRAM) + NAME_MAX_B];
	char get[] = "get", *argv[] = { program, get, NULL };
	sigset_t none;
	int rc;

	snprintf(program, sizeof(program), PROGRAM "%s", name);
	setpgid(0, 0);
	/* it ends when this process is killed, also if that was just now */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(in, 0) != -1 && dup2(out, 1) != -1 && dup2(err, 2) != -1)
		execvp(program, argv);
	rc = errno;
	if (write(failed, &rc, sizeof(rc)) != sizeof(rc))
		_exit(126);
	_exit(127);
}

static int
start(struct program *p)
{
	int pipes[4][2], rc = 0, n = 0;
	pid_t self = getpid();

	while (n < 4 && rc == 0)
		rc = pipe2(pipes[n], O_CLOEXEC) == -1 ? -errno : (n++, 0);
	p->pid = rc != 0 ? -1 : fork();
	if (p->pid == 0)
		execute(p->name, pipes[0][0], pipes[1][1], pipes[2][1],
		    pipes[3][1], self);
	if (rc == 0 && p->pid == -1)
		rc = -errno;
	for (int i = 0; i < n; i++) {
		close(pipes[i][i == 0 ? 0 : 1]);
		if (rc != 0)
			close(pipes[i][i == 0 ? 1 : 0]);
	}
	if (rc != 0)
		return rc;
	p->in = pipes[0][1];
	p->out = pipes[1][0];
	p->err = pipes[2][0];
	p->failed = pipes[3][0];
	return 0;
}

static void
end(struct program *p)
{
	if (p->pid > 0) {
		kill(-p->pid, SIGKILL);
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, &p->status, 0) == -1 && errno == EINTR)
			;
	}
	p->pid = 0;
}

/*
 * Reads what there is of its answer, or of its messages.  Returns whether there
 * may be more, -EFBIG or -ENOMEM.
 */
static int
read_some(struct program *p, bool of_answer)
{
	char buf[4096];
	ssize_t n = read(of_answer ? p->out : p->err, buf, sizeof(buf));
	size_t room = sizeof(p->said) - 1 - p->said_len;

	if (n <= 0)
		return n == -1 && errno == EINTR;
	if (!of_answer) {
		room = (size_t)n < room ? (size_t)n : room;
		memcpy(p->said + p->said_len, buf, room);
		p->said_len += room;
		return 1;
	}
	if ((size_t)n > HELPERS_TEXT - p->answer.len)
		return -EFBIG;
	strbuf_add(&p->answer, buf, (size_t)n);
	explicit_bzero(buf, sizeof(buf));
	return p->answer.failed ? -ENOMEM : 1;
}

/*
 * Reads until the program has ended.  What it has started may keep the pipes
 * open for longer.  Returns 0, -EFBIG, -ETIMEDOUT, -ENOMEM, or -EPIPE if nobody
 * waits for the answer.
 */
static int
attend(struct program *p)
{
	enum { TICK_MS = 20 };
	struct pollfd f[3] = { { .fd = p->out, .events = POLLIN },
		{ .fd = p->err, .events = POLLIN },
		{ .fd = ASIDE_ASKED, .events = POLLRDHUP } };
	bool ended = false;
	int rc;

	for (;;) {
		poll(f, 3, ended ? 0 : f[0].fd == -1 && f[1].fd == -1 ? 1 :
		    TICK_MS);
		if (f[2].revents != 0)
			return -EPIPE;
		for (int i = 0; i < 2; i++) {
			if (f[i].fd == -1 || f[i].revents == 0)
				continue;
			rc = read_some(p, i == 0);
			if (rc < 0)
				return rc;
			if (rc == 0)
				f[i].fd = -1;
		}
		if (ended && f[0].revents == 0)
			return 0;
		if (sys_now_ns() >= p->end_ns)
			return -ETIMEDOUT;
		if (!ended && waitpid(p->pid, &p->status, WNOHANG) == p->pid) {
			ended = true;
			p->pid = 0;
		}
	}
}

/* The first line of its messages. */
static const char *
first_line(struct program *p)
{
	p->said[p->said_len] = '\0';
	p->said[strcspn(p->said, "\r\n")] = '\0';
	for (char *c = p->said; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return p->said;
}

/* Returns whether the program says that it has no credentials. */
static bool
has_none(const struct program *p)
{
	static const char none[] = "credentials not found in native keychain";
	size_t n = sizeof(none) - 1;

	return p->answer.len >= n && memcmp(p->answer.data, none, n) == 0 &&
	    strspn(p->answer.data + n, "\r\n \t") == p->answer.len - n;
}

/* Writes why it has no answer, after its name.  Returns -EACCES. */
static int __attribute__((format(printf, 3, 4)))
explain(struct program *p, char why[LAYER_WHY], const char *fmt, ...)
{
	int n = snprintf(why, LAYER_WHY, PROGRAM "%s ", p->name);
	const char *said = first_line(p);
	va_list args;

	va_start(args, fmt);
	n += vsnprintf(why + n, LAYER_WHY - (size_t)n, fmt, args);
	va_end(args);
	if (n < LAYER_WHY && *said != '\0')
		snprintf(why + n, LAYER_WHY - (size_t)n, ": %s", said);
	return -EACCES;
}

/* Judges what the program has written. */
static int
judge(struct program *p, unsigned timeout_s, int rc, int failed, char **user,
    char **secret, char why[LAYER_WHY])
{
	char reason[LAYER_WHY];

	if (rc == -ETIMEDOUT)
		return explain(p, why, "was killed after %u s without an "
		    "answer", timeout_s);
	if (rc == -EFBIG)
		return explain(p, why, "was killed: expected at most 64 KiB, "
		    "found more");
	if (failed != 0)
		return explain(p, why, "cannot be run: %s", strerror(failed));
	if (rc != 0)
		return rc;
	strbuf_char(&p->answer, '\0');
	if (p->answer.failed)
		return -ENOMEM;
	p->answer.len--;
	if (WIFSIGNALED(p->status))
		return explain(p, why, "was ended by signal %d",
		    WTERMSIG(p->status));
	if (WEXITSTATUS(p->status) != 0)
		return has_none(p) ? -ENOENT : explain(p, why, "ended with "
		    "status %d", WEXITSTATUS(p->status));
	rc = helpers_parse(p->answer.data, p->answer.len, user, secret,
	    reason);
	return rc == -EBADMSG ? explain(p, why, "is of no use: %.120s",
	    reason) : rc;
}

static int
run_program(const char *name, const char *host, unsigned timeout_s,
    char **user, char **secret, char why[LAYER_WHY])
{
	struct program p = { .name = name,
		.end_ns = sys_now_ns() + timeout_s * second };
	int rc = start(&p), failed = 0;

	if (rc != 0)
		return explain(&p, why, "cannot be run: %s", strerror(-rc));
	/* the name fits into the pipe; the program need not read it */
	if (write(p.in, host, strlen(host)) == -1)
		failed = 0;
	close(p.in);
	rc = attend(&p);
	end(&p);
	if (read(p.failed, &failed, sizeof(failed)) != sizeof(failed))
		failed = 0;
	close(p.out);
	close(p.err);
	close(p.failed);
	rc = judge(&p, timeout_s, rc, failed, user, secret, why);
	if (p.answer.data != NULL)
		explicit_bzero(p.answer.data, p.answer.len);
	strbuf_free(&p.answer);
	return rc;
}

/* The process */

struct question {
	uint32_t number, which;
	char host[HOST_MAX];
};

struct answer {
	uint32_t number;
	int32_t rc;
	/* the user and the secret, each with a NUL, or the reason */
	char text[HELPERS_TEXT + 2];
};

struct asked {
	const char *auth_file;
	unsigned timeout_s;
};

/* The server's name, without the port that it has anyway. */
static void
cut_port(char *host)
{
	char *colon = strrchr(host, ':');

	if (colon != NULL && (strcmp(colon, ":443") == 0 ||
	    strcmp(colon, ":80") == 0))
		*colon = '\0';
}

static int
find_credentials(const struct asked *a, struct question *q, char **user,
    char **secret, char why[LAYER_WHY])
{
	int fd = sys_openat(AT_FDCWD, a->auth_file, O_RDONLY | O_CLOEXEC |
	    O_NONBLOCK, 0), rc;
	char *text = NULL, *name = NULL;
	size_t len;

	rc = fd < 0 ? fd : fdio_read_all(fd, FILE_MAX_B, &text, &len);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0) {
		snprintf(why, LAYER_WHY, "%.160s: %s", a->auth_file,
		    strerror(-rc));
		return -EACCES;
	}
	rc = helpers_find(text, len, q->which, q->host, &name, why);
	sys_free(text);
	if (rc == 0) {
		cut_port(q->host);
		rc = run_program(name, q->host, a->timeout_s, user, secret,
		    why);
	}
	sys_free(name);
	if (rc == -EBADMSG)
		snprintf(why, LAYER_WHY, "%.160s: not a JSON object",
		    a->auth_file);
	return rc == -EINVAL || rc == -EBADMSG ? -EACCES : rc;
}

static void
answer_one(const struct asked *a, struct question *q, struct answer *answer)
{
	char *user = NULL, *secret = NULL, why[LAYER_WHY] = "";
	size_t user_len, secret_len, len;

	*answer = (struct answer){ .number = q->number };
	answer->rc = find_credentials(a, q, &user, &secret, why);
	len = (size_t)snprintf(answer->text, LAYER_WHY, "%s", why) + 1;
	if (answer->rc == 0) {
		/* both are from a text that fits */
		user_len = strlen(user) + 1;
		secret_len = strlen(secret) + 1;
		len = user_len + secret_len;
		memcpy(answer->text, user, user_len);
		memcpy(answer->text + user_len, secret, secret_len);
	}
	helpers_forget(user);
	helpers_forget(secret);
	send(ASIDE_ASKED, answer, offsetof(struct answer, text) + len,
	    MSG_NOSIGNAL);
	explicit_bzero(answer, sizeof(*answer));
}

static void
answer_questions(void *arg)
{
	struct answer *answer = malloc(sizeof(*answer));
	struct question q;
	ssize_t n;

	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		n = recv(ASIDE_ASKED, &q, sizeof(q), 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n != sizeof(q) || answer == NULL)
			_exit(0);
		q.host[HOST_MAX - 1] = '\0';
		answer_one(arg, &q, answer);
	}
}

/* The parent */

enum { KEPT_S = 10, KNOWN = 8, MORE_S = 5 };

struct known_answer {
	char host[HOST_MAX];
	enum helpers_which which;
	uint64_t until_ns;		/* 0: none */
	int rc;
	char *user, *secret, why[LAYER_WHY];
};

struct helpers {
	struct aside process;
	unsigned timeout_s;
	uint32_t number;		/* of the last question */
	struct known_answer known[KNOWN];	/* the latest */
	pthread_mutex_t lock;		/* held while there is a question */
};

int
helpers_start(struct helpers **out, const char *auth_file, unsigned timeout_s)
{
	struct helpers *h = sys_calloc(1, sizeof(*h));
	struct asked a = { .auth_file = auth_file, .timeout_s = timeout_s };
	int rc;

	if (h == NULL)
		return -ENOMEM;
	h->timeout_s = timeout_s;
	rc = aside_start(&h->process, "helpers", answer_questions, &a);
	if (rc != 0) {
		sys_free(h);
		return rc;
	}
	pthread_mutex_init(&h->lock, NULL);
	*out = h;
	return 0;
}

static void
forget_answer(struct known_answer *k)
{
	helpers_forget(k->user);
	helpers_forget(k->secret);
	*k = (struct known_answer){ .until_ns = 0 };
}

void
helpers_stop(struct helpers *h)
{
	if (h == NULL)
		return;
	aside_stop(&h->process);
	for (size_t i = 0; i < KNOWN; i++)
		forget_answer(&h->known[i]);
	pthread_mutex_destroy(&h->lock);
	sys_free(h);
}

/* Takes the answer of n bytes. */
static int
take_answer(struct known_answer *k, const struct answer *a, size_t n)
{
	size_t len = n - offsetof(struct answer, text), user;

	if (len == 0 || a->text[len - 1] != '\0')
		return -EPIPE;
	if (a->rc != 0) {
		snprintf(k->why, sizeof(k->why), "%s", a->text);
		return a->rc;
	}
	user = strlen(a->text) + 1;
	if (user == len)
		return -EPIPE;
	k->user = strcopy(a->text);
	k->secret = strcopy(a->text + user);
	return k->user == NULL || k->secret == NULL ? -ENOMEM : 0;
}

/* Asks, and waits for the answer. */
static int
ask_process(struct helpers *h, struct known_answer *k)
{
	struct pollfd p = { .fd = h->process.fd, .events = POLLIN };
	uint64_t end_ns = sys_now_ns() + (h->timeout_s + MORE_S) * second, now;
	struct question q = { .number = ++h->number, .which = k->which };
	struct answer *a = sys_calloc(1, sizeof(*a));
	int rc = a == NULL ? -ENOMEM : -ETIMEDOUT;
	ssize_t n;

	strcpy(q.host, k->host);
	if (a != NULL && send(p.fd, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
		rc = -EPIPE;
	while (rc == -ETIMEDOUT && (now = sys_now_ns()) < end_ns) {
		if (poll(&p, 1, (int)((end_ns - now) / millisecond + 1)) <= 0)
			continue;
		n = recv(p.fd, a, sizeof(*a), 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n < (ssize_t)offsetof(struct answer, text)) {
			rc = -EPIPE;
		} else if (a->number == q.number) {
			rc = take_answer(k, a, (size_t)n);
			break;
		}
	}
	if (a != NULL)
		explicit_bzero(a, sizeof(*a));
	sys_free(a);
	if (rc == -EPIPE || (rc == -ETIMEDOUT && *k->why == '\0'))
		snprintf(k->why, sizeof(k->why), "the process that runs "
		    "credential helpers %s", rc == -EPIPE ? "has ended" :
		    "does not answer");
	return rc == -EPIPE ? -EACCES : rc;
}

/* The place of this question, or the one that may be given up first. */
static struct known_answer *
entry_for(struct helpers *h, enum helpers_which which, const char *host)
{
	struct known_answer *first = h->known;

	for (struct known_answer *k = h->known; k < h->known + KNOWN; k++) {
		if (k->which == which && strcmp(k->host, host) == 0)
			return k;
		if (k->until_ns < first->until_ns)
			first = k;
	}
	return first;
}

int
helpers_ask(struct helpers *h, enum helpers_which which, const char *host,
    char **user, char **secret, char why[LAYER_WHY])
{
	struct known_answer *k;
	int rc;

	*user = *secret = NULL;
	if (strlen(host) >= HOST_MAX)
		return -ENOENT;
	pthread_mutex_lock(&h->lock);
	k = entry_for(h, which, host);
	if (sys_now_ns() >= k->until_ns) {
		forget_answer(k);
		k->which = which;
		strcpy(k->host, host);
		k->rc = ask_process(h, k);
		k->until_ns = sys_now_ns() + KEPT_S * second;
	}
	rc = k->rc;
	if (rc == 0) {
		*user = strcopy(k->user);
		*secret = strcopy(k->secret);
		if (*user == NULL || *secret == NULL) {
			helpers_forget(*user);
			helpers_forget(*secret);
			*user = *secret = NULL;
			rc = -ENOMEM;
		}
	} else {
		snprintf(why, LAYER_WHY, "%s", *k->why != '\0' ? k->why :
		    strerror(-rc));
	}
	pthread_mutex_unlock(&h->lock);
	return rc;
}
