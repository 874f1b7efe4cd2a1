/*
 * provenance.c - describing the origin of rows in comments
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/provenance.h"

#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/table.h"
#include "base/utc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { COMMENTS_MAX_B = 1 << 20 };

void
provenance_series(char id[PROVENANCE_SERIES_B])
{
	char date[UTC_B];
	uint16_t lot = 0;

	/* Without a random number, the process ID must suffice. */
	if (getrandom(&lot, sizeof(lot), GRND_NONBLOCK) != sizeof(lot))
		lot = 0;
	utc_name(date, utc_now_ns());
	snprintf(id, PROVENANCE_SERIES_B, "%s-%d-%04x", date, (int)getpid(),
	    lot);
}

/*
 * Finds the text after the colon in the first line of /proc/cpuinfo with one of
 * these keys.
 */
static bool
cpu_model(char *text, size_t size)
{
	static const char *const keys[] = { "model name", "Model", "cpu model",
		"uarch", "cpu\t" };
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (f != NULL && !found && fgets(text, (int)size, f) != NULL) {
		char *s = strchr(text, ':');

		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			found |= s != NULL &&
			    strncmp(text, keys[i], strlen(keys[i])) == 0;
		if (found) {
			s += 1 + strspn(s + 1, " \t");
			memmove(text, s, strlen(s) + 1);
			text[strcspn(text, "\n")] = '\0';
		}
	}
	if (f != NULL)
		fclose(f);
	return found;
}

/*
 * Returns the words, quoted for the shell.  The caller frees the result; NULL
 * if out of memory.
 */
static char *
shell_words(int argc, char *const *argv)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%^";
	size_t size = 1;
	char *text, *s;

	/* in the worst case every character is a quote, written as four */
	for (int i = 0; i < argc; i++)
		size += 4 * strlen(argv[i]) + 3;
	text = s = sys_malloc(size);
	if (text == NULL)
		return NULL;
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (i > 0)
			*s++ = ' ';
		if (*w != '\0' && w[strspn(w, plain)] == '\0') {
			s = stpcpy(s, w);
			continue;
		}
		*s++ = '\'';
		for (; *w != '\0'; w++)
			if (*w == '\'')
				s = stpcpy(s, "'\\''");
			else
				*s++ = *w;
		*s++ = '\'';
	}
	*s = '\0';
	return text;
}

int
provenance_write(struct table *t, const struct provenance *p)
{
	static const char clocks[] = "/sys/devices/system/clocksource/"
	    "clocksource0/current_clocksource";
	static const char governor[] = "/sys/devices/system/cpu/cpu0/cpufreq/"
	    "scaling_governor";
	struct utsname u = { .nodename = "" };
	int mitigated = 0, vulnerable = 0, rc;
	struct sysinfo si;
	struct dirent *e;
	char text[512], usable[32] = "", *call;
	cpu_set_t set;
	DIR *d;

	rc = table_comment(t, "series", "%s", p->series);
	if (rc != 0)
		return rc;
	rc = table_comment(t, "tool", "%s %s", p->tool, COLDPRESS_VERSION);
	for (size_t i = 0; rc == 0 && i < p->lib_count; i++)
		rc = table_comment(t, "library", "%s", p->libs[i]);
	if (rc != 0)
		return rc;
	utc_text(text, utc_now_ns());
	rc = table_comment(t, "date", "%s", text);
	if (rc != 0)
		return rc;
	/* the machine */
	uname(&u);
	rc = table_comment(t, "host", "%s", u.nodename);
	if (rc != 0)
		return rc;
	rc = table_comment(t, "kernel", "%s %s %s", u.sysname, u.release,
	    u.machine);
	if (rc != 0)
		return rc;
	rc = table_comment(t, "cpu", "%s",
	    cpu_model(text, sizeof(text)) ? text : "unknown");
	if (rc != 0)
		return rc;
	/* This fails if the set is too small for the machine. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		snprintf(usable, sizeof(usable), ", %d usable",
		    CPU_COUNT(&set));
	rc = table_comment(t, "cores", "%ld%s", sysconf(_SC_NPROCESSORS_ONLN),
	    usable);
	if (rc != 0)
		return rc;
	if (sysinfo(&si) == 0) {
		rc = table_comment(t, "memory_B", "%" PRIu64,
		    (uint64_t)si.totalram * si.mem_unit);
		if (rc != 0)
			return rc;
	}
	rc = table_comment(t, "clocksource", "%s", fdio_read_line(AT_FDCWD,
	    clocks, text, sizeof(text)) > 0 ? text : "unknown");
	if (rc != 0)
		return rc;
	rc = table_comment(t, "governor", "%s", fdio_read_line(AT_FDCWD,
	    governor, text, sizeof(text)) > 0 ? text : "none");
	if (rc != 0)
		return rc;
	/* mitigations for the processor's vulnerabilities */
	d = opendir("/sys/devices/system/cpu/vulnerabilities");
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (fdio_read_line(dirfd(d), e->d_name, text, 256) <= 0)
			continue;
		mitigated += strncmp(text, "Mitigation", 10) == 0;
		vulnerable += strncmp(text, "Vulnerable", 10) == 0;
	}
	if (d != NULL) {
		closedir(d);
		rc = table_comment(t, "mitigations", "%d active, %d missing",
		    mitigated, vulnerable);
		if (rc != 0)
			return rc;
	}
	call = shell_words(p->argc, p->argv);
	if (call == NULL)
		return -ENOMEM;
	rc = table_comment(t, "argv", "%s", call);
	sys_free(call);
	return rc;
}

/* Removes the value of a comment, except for its first characters. */
static void
cut_value(char *text, const char *comment, size_t kept)
{
	char *s = strstr(text, comment);
	size_t len;

	if (s == NULL)
		return;
	s += strlen(comment);
	len = strcspn(s, "\n");
	if (len > kept)
		memmove(s + kept, s + len, strlen(s + len) + 1);
}

int
provenance_again(const char *path, bool inlined,
    const struct provenance *p, char id[PROVENANCE_SERIES_B])
{
	static const size_t DAY = sizeof("2026-11-20") - 1;
	int fd = -1, rc = 0;
	struct strbuf last = { .len = 0 };
	char *line = NULL, *text = NULL, name[PROVENANCE_SERIES_B];
	size_t room = 0, len;
	struct table *t;
	FILE *f = table_open_comments(path, inlined);

	if (f == NULL)
		return errno == ENOENT ? 0 : -errno;
	/* the comments since the last series began */
	while (getline(&line, &room, f) != -1) {
		if (strncmp(line, "# series: ", 10) == 0)
			strbuf_clear(&last);
		if (*line == '#')
			strbuf_str(&last, line);
	}
	free(line);
	fclose(f);
	strbuf_char(&last, '\0');
	if (last.failed)
		rc = -ENOMEM;
	if (rc != 0 || sscanf(last.data, "# series: %39s", name) != 1)
		goto out;
	/* the comments of p, as they would be written */
	fd = memfd_create("provenance", MFD_CLOEXEC);
	rc = fd == -1 ? -errno : table_to_fd(&t, fd, TABLE_CSV, NULL, 0);
	if (rc != 0)
		goto out;
	table_inline_comments(t);
	rc = provenance_write(t, p);
	table_close(t);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) == -1)
		rc = -errno;
	if (rc == 0)
		rc = fdio_read_all(fd, COMMENTS_MAX_B, &text, &len);
	if (rc != 0)
		goto out;
	/* remove what differs between two series of the same day */
	cut_value(last.data, "# series: ", 0);
	cut_value(last.data, "# date: ", DAY);
	cut_value(text, "# series: ", 0);
	cut_value(text, "# date: ", DAY);
	if (strcmp(last.data, text) == 0) {
		memcpy(id, name, sizeof(name));
		rc = 1;
	}
out:
	if (fd >= 0)
		sys_close(fd);
	strbuf_free(&last);
	sys_free(text);
	return rc;
}

int
provenance_input(struct table *t, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1 || !S_ISREG(st.st_mode))
		return 0;
	return table_comment(t, "input", "%s, %jd B", path,
	    (intmax_t)st.st_size);
}
