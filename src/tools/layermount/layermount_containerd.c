/*
 * layermount_containerd.c - a snapshotter of containerd (--containerd)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Three processes: the service, which answers containerd; a store of layers
 * (--store), mounted at ROOT/layers, which reads the network; and the keeper,
 * which starts the store.  A layer is mounted by binding its tree in the store
 * to the directory of its snapshot.
 *
 * The store is a process of its own so that containers outlive the service: when
 * the service is killed, or ends because of SIGTERM, the store remains as long
 * as there are such layers, and the next service uses it.  If the store is
 * killed, the layers in use are lost to those who use them, and the service
 * starts another store and mounts the layers anew.
 *
 * The store answers lookups when it has the layer's index or has given up.  So
 * threads ask it, which may be left behind: nobody waits longer than --timeout.
 */
#include "layermount.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "lazy/snapshots/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ASKING_MAX = 32, CHECK_S = 1, TRIM_S = 60 };

struct service {
	struct layermount *m;
	struct snapshots *snapshots;
	char *root, *store;		/* absolute paths */
	int keeper;			/* a socket of the keeper, or -1 */
	pid_t keeper_pid;
	pthread_mutex_t starting;	/* held while a store is started */
	atomic_bool lost;		/* the keeper was, when it was needed */

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	unsigned asking;		/* threads that wait for the store */
	bool stop;
};

static int
fail(struct layermount *m, const char *what, const char *why)
{
	layermount_fail(m, what, why);
	return MSG_ERROR;
}

static void
warn(void *arg, const char *what, const char *why)
{
	struct service *s = arg;
	const struct vfs_report r = layermount_report(s->m);

	r.warn(r.arg, what, why);
}

/* The keeper */

/*
 * Starts a store for each byte that arrives, and answers with a byte: 0 if it is
 * mounted.  It has one thread, so that what it forks can do anything.
 */
static void
keep(struct service *s, int from)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	const size_t count = sizeof(signals) / sizeof(*signals);
	struct layermount m = *s->m;
	int status;
	char byte;
	pid_t pid;

	/* it ends with the service */
	for (size_t i = 0; i < count; i++)
		signal(signals[i], SIG_IGN);
	m.o.containerd = NULL;
	m.o.store = true;
	m.o.foreground = false;
	/* only root can enter the directory of the mount */
	m.o.allow_other = true;
	m.o.mountpoint = s->store;
	while (fdio_read(from, &byte, 1) == 1) {
		pid = fork();
		if (pid == 0) {
			sys_close(from);
			for (size_t i = 0; i < count; i++)
				signal(signals[i], SIG_DFL);
			_exit(layermount_run(&m));
		}
		status = 1;
		while (pid > 0 && waitpid(pid, &status, 0) == -1 &&
		    errno == EINTR)
			;
		byte = status == 0 ? 0 : 1;
		if (fdio_write(from, &byte, 1) != 0)
			break;
	}
}

/* The keeper and its stores do not hold `tell`, for which somebody waits. */
static int
start_keeper(struct service *s, int tell)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
		return fail(s->m, "socketpair", strerror(errno));
	s->keeper_pid = fork();
	if (s->keeper_pid == 0) {
		sys_close(ends[1]);
		if (tell >= 0)
			sys_close(tell);
		keep(s, ends[0]);
		_exit(0);
	}
	sys_close(ends[0]);
	s->keeper = ends[1];
	return s->keeper_pid == -1 ? fail(s->m, "fork", strerror(errno)) :
	    MSG_OK;
}

static bool
store_is_alive(const struct service *s)
{
	unsigned major, minor;

	return mounted_by_us(s->store, &major, &minor);
}

/* Starts the store if there is none. */
static int
need_store(struct service *s)
{
	char byte = 0;
	int rc = 0;

	pthread_mutex_lock(&s->starting);
	if (!store_is_alive(s) && (fdio_write(s->keeper, &byte, 1) != 0 ||
	    fdio_read(s->keeper, &byte, 1) != 1 || byte != 0))
		rc = -EIO;
	pthread_mutex_unlock(&s->starting);
	return rc;
}

/* Asking the store */

/* A question that a thread of its own asks. */
struct question {
	struct service *s;
	int (*ask)(const char *path);
	char path[PATH_MAX];
	/* guarded by the service's lock */
	int answer;
	bool answered, abandoned;
};

static void *
ask_store(void *arg)
{
	struct question *q = arg;
	struct service *s = q->s;
	int answer = q->ask(q->path);
	bool mine;

	pthread_mutex_lock(&s->lock);
	q->answer = answer;
	q->answered = true;
	mine = q->abandoned;
	s->asking--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (mine)
		sys_free(q);
	return NULL;
}

/* Waits until a time, or until something changes.  Called with the lock held. */
static bool
wait_until(struct service *s, const struct timespec *end)
{
	return pthread_cond_timedwait(&s->changed, &s->lock, end) !=
	    ETIMEDOUT;
}

static struct timespec
after_seconds(unsigned seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += seconds;
	return t;
}

/*
 * Returns what ask() answers about a path, or -ETIMEDOUT if that takes longer
 * than --timeout, or -EAGAIN if too many threads wait already.
 */
static int
ask(struct service *s, int (*question)(const char *path), const char *path)
{
	const struct timespec end = after_seconds(s->m->o.timeout_s);
	struct question *q = sys_calloc(1, sizeof(*q));
	pthread_t thread;
	int rc = -EAGAIN;

	if (q == NULL)
		return -ENOMEM;
	q->s = s;
	q->ask = question;
	snprintf(q->path, sizeof(q->path), "%s", path);
	pthread_mutex_lock(&s->lock);
	if (s->asking < ASKING_MAX)
		rc = sys_thread(&thread, ask_store, q);
	if (rc != 0) {
		pthread_mutex_unlock(&s->lock);
		sys_free(q);
		return rc;
	}
	pthread_detach(thread);
	s->asking++;
	while (!q->answered && wait_until(s, &end))
		;
	q->abandoned = !q->answered;
	rc = q->answered ? q->answer : -ETIMEDOUT;
	if (q->abandoned)
		q = NULL;
	pthread_mutex_unlock(&s->lock);
	sys_free(q);
	return rc;
}

/* Opens a layer of the store, whose tree is at the path, and marks it as used. */
static int
open_layer(const char *path)
{
	char use[PATH_MAX];
	int fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC,
	    0);

	if (fd < 0)
		return fd;
	sys_close(fd);
	snprintf(use, sizeof(use), "%.*suse", (int)(strrchr(path, '/') - path +
	    1), path);
	/* it never succeeds */
	fd = sys_openat(AT_FDCWD, use, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		sys_close(fd);
	return 0;
}

/* Marks a layer of the store as unused. */
static int
release_layer(const char *path)
{
	return sys_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static int
check_mount(const char *path)
{
	struct statfs st;

	if (statfs(path, &st) == -1)
		return -errno;
	return st.f_type == FUSE_SUPER_MAGIC ? 0 : -ENOENT;
}

/* Writes the path of a layer in the store. */
static int
path_of_layer(const struct service *s, const char *image, const char *digest,
    const char *what, char path[PATH_MAX])
{
	char name[NAME_MAX + 1];
	uint8_t sum[LAYER_DIGEST];

	if (hex_read_sha256(sum, digest) != 0)
		return -EINVAL;
	if (base64_len(strlen(image)) > NAME_MAX)
		return -ENAMETOOLONG;
	base64_write(name, image, strlen(image));
	return snprintf(path, PATH_MAX, "%s/%s/%s%s", s->store, name, digest,
	    what) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Mounting layers, for the snapshots */

static int
mount_layer(void *arg, const char *image, const char *digest, const char *dir)
{
	struct service *s = arg;
	char path[PATH_MAX];
	int rc = path_of_layer(s, image, digest, "/diff", path);

	if (rc == 0)
		rc = need_store(s);
	if (rc == 0)
		rc = ask(s, open_layer, path);
	if (rc == 0 && mount(path, dir, NULL, MS_BIND, NULL) == -1)
		rc = -errno;
	/* programs may have privileges there, unlike in other mounts of FUSE */
	if (rc == 0)
		(void)mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY,
		    NULL);
	return rc;
}

static void
unmount_layer(void *arg, const char *image, const char *digest,
    const char *dir)
{
	struct service *s = arg;
	unsigned major, minor;
	char path[PATH_MAX];

	while (mounted_by_us(dir, &major, &minor) &&
	    umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		;
	if (digest != NULL && store_is_alive(s) &&
	    path_of_layer(s, image, digest, "", path) == 0)
		(void)ask(s, release_layer, path);
}

/* A store that does not answer in time is busy, but it is there. */
static bool
layer_is_mounted(void *arg, const char *dir)
{
	struct service *s = arg;
	unsigned major, minor;
	int rc;

	if (!mounted_by_us(dir, &major, &minor))
		return false;
	rc = ask(s, check_mount, dir);
	return rc == 0 || rc == -ETIMEDOUT || rc == -EAGAIN;
}

/*
 * Unmounts a store that was killed, if the process that would have done so was
 * killed before it.
 */
static void
drop_dead_store(struct service *s)
{
	while (store_is_alive(s) && ask(s, check_mount, s->store) == -ENOTCONN)
		if (umount2(s->store, MNT_DETACH | UMOUNT_NOFOLLOW) == -1)
			break;
}

/* Whether the keeper was killed, so that no store can be started. */
static bool
keeper_has_ended(const struct service *s)
{
	struct pollfd p = { .fd = s->keeper };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/*
 * Gives free memory back to the system.  Each of the allocator's arenas, of which
 * there may be one for each thread, otherwise keeps the most that it has needed.
 */
static void
trim_memory(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/* Mounts the layers that are not, now and whenever a store has ended. */
static void *
watch_store(void *arg)
{
	struct service *s = arg;
	char why[SNAPSHOTS_WHY];
	struct timespec end;
	bool stop = false, mounted = false;

	for (unsigned i = 1; !stop; i++) {
		if (i % (TRIM_S / CHECK_S) == 0)
			trim_memory();
		drop_dead_store(s);
		if (!mounted || !store_is_alive(s)) {
			mounted = need_store(s) == 0 &&
			    snapshots_remount(s->snapshots, why) == 0;
			if (!mounted)
				warn(s, s->store, "layers cannot be mounted");
			if (!mounted && keeper_has_ended(s)) {
				/* the next service has another */
				warn(s, "keeper", "it has ended; so does the "
				    "service");
				atomic_store(&s->lost, true);
				kill(getpid(), SIGTERM);
				break;
			}
		}
		end = after_seconds(CHECK_S);
		pthread_mutex_lock(&s->lock);
		while (!s->stop && wait_until(s, &end))
			;
		stop = s->stop;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* Preparing */

static int
find_root(struct service *s)
{
	struct layermount *m = s->m;
	const char *root = m->o.mountpoint;
	struct stat st;
	char *cache = NULL;

	if (mkdir(root, 0700) == -1 && errno != EEXIST)
		return fail(m, root, strerror(errno));
	s->root = realpath(root, NULL);
	if (s->root == NULL || stat(s->root, &st) == -1)
		return fail(m, root, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return fail(m, root, "it must belong to this user, with mode "
		    "0700");
	/* they stand in the options of mounts */
	if (strpbrk(s->root, ",:\\") != NULL)
		return fail(m, s->root, "its path contains ',', ':' or a "
		    "backslash");
	if (asprintf(&s->store, "%s/layers", s->root) == -1 ||
	    (m->o.cache == NULL && asprintf(&cache, "%s/cache", s->root) ==
	    -1))
		return fail(m, root, strerror(ENOMEM));
	/* for the rest of the life of this process */
	if (cache != NULL)
		m->o.cache = cache;
	return MSG_OK;
}

/* Makes the directory of the store, without a mount whose server has gone. */
static int
prepare_store(struct service *s)
{
	while (store_is_alive(s) && check_mount(s->store) != 0)
		if (umount2(s->store, MNT_DETACH | UMOUNT_NOFOLLOW) == -1)
			return fail(s->m, s->store, strerror(errno));
	if (mkdir(s->store, 0700) == -1 && errno != EEXIST)
		return fail(s->m, s->store, strerror(errno));
	return MSG_OK;
}

/* Serving */

/* Returns a descriptor from which the signals that end the service are read. */
static int
open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/*
 * Unmounts what nobody needs: everything after SIGINT, as containerd's stargz
 * snapshotter does; otherwise only a store without layers.
 */
static void
tidy(struct service *s, int signals)
{
	struct signalfd_siginfo i = { .ssi_signo = SIGTERM };
	char why[SNAPSHOTS_WHY];

	(void)sys_read(signals, &i, sizeof(i));
	if (i.ssi_signo == SIGINT && snapshots_unmount(s->snapshots, why) != 0)
		layermount_fail(s->m, s->root, why);
	if (store_is_alive(s) && (i.ssi_signo == SIGINT ||
	    snapshots_lazy_count(s->snapshots) == 0))
		(void)umount2(s->store, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/*
 * With an arena for each thread, the allocator keeps ten times what is in use.
 * One transaction is under way at a time, so the threads need none of their own.
 */
static void
share_memory(void)
{
#ifdef M_ARENA_MAX
	enum { ARENAS = 2 };

	(void)mallopt(M_ARENA_MAX, ARENAS);
#endif
}

static int
run_service(struct service *s, int signals, int listener, int tell)
{
	struct layermount *m = s->m;
	const struct snapshots_service service = { .snapshots = s->snapshots,
		.listener = listener, .stop = signals,
		.timeout_s = m->o.timeout_s };
	pthread_t watcher;
	int rc = sys_thread(&watcher, watch_store, s);

	if (rc != 0)
		return fail(m, s->root, strerror(-rc));
	if (!m->o.foreground) {
		layermount_hide(m);
		rc = fdio_write(tell, "", 1);
		sys_close(tell);
	}
	if (rc == 0)
		rc = snapshots_serve(&service);
	(void)unlink(m->o.containerd);
	if (rc != 0)
		layermount_fail(m, s->root, strerror(-rc));
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	/* a request or this thread may still wait for the store */
	if (rc == 0 && vfs_join(watcher)) {
		tidy(s, signals);
		snapshots_close(s->snapshots);
	}
	return rc == 0 && !atomic_load(&s->lost) ? MSG_OK : MSG_ERROR;
}

static int
serve(struct layermount *m, int tell)
{
	struct service s = { .m = m, .keeper = -1,
		.starting = PTHREAD_MUTEX_INITIALIZER,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER };
	const struct snapshots_layers layers = { .mount = mount_layer,
		.unmount = unmount_layer, .is_mounted = layer_is_mounted,
		.warn = warn, .arg = &s };
	char why[SNAPSHOTS_WHY];
	int status = find_root(&s), signals, listener;

	if (status == MSG_OK)
		status = start_keeper(&s, tell);
	if (status != MSG_OK)
		return status;
	share_memory();
	signals = open_signals();
	if (signals == -1)
		return fail(m, "signalfd", strerror(errno));
	/* this ensures that there is no other service */
	if (snapshots_open(&s.snapshots, s.root, &layers, why) != 0)
		return fail(m, s.root, why);
	status = prepare_store(&s);
	if (status != MSG_OK)
		return status;
	listener = layermount_listen(m, m->o.containerd);
	if (listener == -1)
		return MSG_ERROR;
	if (need_store(&s) != 0) {
		(void)unlink(m->o.containerd);
		return fail(m, s.store, "the layers cannot be served");
	}
	return run_service(&s, signals, listener, tell);
}

int
layermount_containerd(struct layermount *m)
{
	int status = layermount_open_log(m);

	return status == MSG_OK ? layermount_background(m, serve) : status;
}
