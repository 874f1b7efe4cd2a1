/*
 * packer_zstd.c - zstd as in ZFS, by this program's libzstd or another
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ZFS stores a frame without magic number, size or checksum, written by zstd
 * 1.4.5 with a new context for each record.  A library of that version is used
 * in the same way.  In a later one its features are disabled: row-based search,
 * block splitting and, in the dfast strategy, lookahead, which it does not use
 * after a prefix.
 */
#define ZSTD_STATIC_LINKING_ONLY	/* frames without a magic number */

#include "engine/packer/packer_zstd.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "engine/packer/packer.h"
#include "engine/packer/packer_kinds.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

enum { OLDEST = 10400, NEXT_MAJOR = 20000, PATH_B = 4096 };

/*
 * Another library must resolve its own symbols before this program's, which
 * has a libzstd, too.  The address sanitizer does not allow that.
 */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
enum { LOAD = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#else
enum { LOAD = RTLD_NOW | RTLD_LOCAL };
#endif

/* The experimental parameters used here have had these numbers since 1.4.0. */
struct packer_zstd {
	void *handle;
	unsigned (*version)(void);
	unsigned (*is_error)(size_t code);
	ZSTD_CCtx *(*create)(void);
	size_t (*release)(ZSTD_CCtx *c);
	size_t (*reset)(ZSTD_CCtx *c, ZSTD_ResetDirective what);
	size_t (*set)(ZSTD_CCtx *c, ZSTD_cParameter what, int value);
	size_t (*prefix)(ZSTD_CCtx *c, const void *bytes, size_t len);
	size_t (*compress)(ZSTD_CCtx *c, void *out, size_t cap, const void *in,
	    size_t len);
	ZSTD_compressionParameters (*parameters)(int level,
	    unsigned long long len, size_t dictionary);
};

static const struct packer_zstd linked = { NULL, ZSTD_versionNumber,
	ZSTD_isError, ZSTD_createCCtx, ZSTD_freeCCtx, ZSTD_CCtx_reset,
	ZSTD_CCtx_setParameter, ZSTD_CCtx_refPrefix, ZSTD_compress2,
	ZSTD_getCParams };

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	{ "ZSTD_versionNumber", offsetof(struct packer_zstd, version) },
	{ "ZSTD_isError", offsetof(struct packer_zstd, is_error) },
	{ "ZSTD_createCCtx", offsetof(struct packer_zstd, create) },
	{ "ZSTD_freeCCtx", offsetof(struct packer_zstd, release) },
	{ "ZSTD_CCtx_reset", offsetof(struct packer_zstd, reset) },
	{ "ZSTD_CCtx_setParameter", offsetof(struct packer_zstd, set) },
	{ "ZSTD_CCtx_refPrefix", offsetof(struct packer_zstd, prefix) },
	{ "ZSTD_compress2", offsetof(struct packer_zstd, compress) },
	{ "ZSTD_getCParams", offsetof(struct packer_zstd, parameters) },
};

/*
 * Tells whether the file has all that its headers say is loaded: what is missing
 * would be a signal once it is used.
 */
static bool
is_whole(int fd, uint64_t size)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) part;

	if (fdio_pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (head.e_phoff > size || fdio_pread(fd, &part, sizeof(part),
		    (off_t)(head.e_phoff + i * sizeof(part))) != sizeof(part))
			return false;
		if (part.p_offset > size || part.p_filesz > size -
		    part.p_offset)
			return false;
	}
	return true;
}

/*
 * Opens the library.  A name without a slash is not searched for, and a pipe,
 * which would wait for its writer, is not opened.
 */
static void *
open_library(const char *path, char why[PACKER_ZSTD_WHY_B])
{
	char here[PATH_B];
	struct stat st;
	void *handle;
	bool whole;
	int fd = sys_openat(AT_FDCWD, path,
	    O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(why, PACKER_ZSTD_WHY_B, "%s",
		    strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			sys_close(fd);
		return NULL;
	}
	whole = is_whole(fd, (uint64_t)st.st_size);
	sys_close(fd);
	if (!whole) {
		snprintf(why, PACKER_ZSTD_WHY_B, "not a %s",
		    S_ISREG(st.st_mode) ? "shared library, or not all of it" :
		    "regular file");
		return NULL;
	}
	if (strchr(path, '/') == NULL) {
		snprintf(here, sizeof(here), "./%s", path);
		path = here;
	}
	handle = dlopen(path, LOAD);
	if (handle == NULL) {
		const char *text = dlerror();
		size_t n = strlen(path);

		/* the caller names the file */
		if (strncmp(text, path, n) == 0 && text[n] == ':')
			text += n + 1 + strspn(text + n + 1, " ");
		snprintf(why, PACKER_ZSTD_WHY_B, "%s", text);
	}
	return handle;
}

int
packer_zstd_load(struct packer_zstd **out, const char *path,
    char why[PACKER_ZSTD_WHY_B])
{
	struct packer_zstd *z = sys_calloc(1, sizeof(*z));
	unsigned version;

	*out = NULL;
	if (z == NULL) {
		snprintf(why, PACKER_ZSTD_WHY_B, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	z->handle = open_library(path, why);
	if (z->handle == NULL)
		goto bad;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = dlsym(z->handle, symbols[i].name);

		if (address == NULL) {
			snprintf(why, PACKER_ZSTD_WHY_B, "not a libzstd: it "
			    "has no function %s", symbols[i].name);
			goto bad;
		}
		memcpy((char *)z + symbols[i].at, &address, sizeof(address));
	}
	version = z->version();
	if (version < OLDEST || version >= NEXT_MAJOR) {
		snprintf(why, PACKER_ZSTD_WHY_B, "zstd %u.%u.%u is not "
		    "supported; expected 1.4.0 or later", version / 10000,
		    version / 100 % 100, version % 100);
		goto bad;
	}
	*out = z;
	return 0;
bad:
	packer_zstd_unload(z);
	return -EINVAL;
}

void
packer_zstd_unload(struct packer_zstd *z)
{
	if (z != NULL && z->handle != NULL)
		dlclose(z->handle);
	sys_free(z);
}

unsigned
packer_zstd_version(const struct packer_zstd *z)
{
	return z == NULL ? ZSTD_versionNumber() : z->version();
}

struct zfs_zstd {
	const struct packer_zstd *lib;
	int level;
	bool exact;			/* the version that OpenZFS contains */
	ZSTD_CCtx *c;			/* if it is kept */
};

static bool
set(const struct zfs_zstd *z, ZSTD_cParameter what, int value)
{
	return !z->lib->is_error(z->lib->set(z->c, what, value));
}

/* Makes a context with ZFS's parameters. */
static bool
make_context(struct zfs_zstd *z)
{
	z->c = z->lib->create();
	return z->c != NULL &&
	    set(z, ZSTD_c_format, ZSTD_f_zstd1_magicless) &&
	    set(z, ZSTD_c_compressionLevel, z->level) &&
	    set(z, ZSTD_c_checksumFlag, 0) &&
	    set(z, ZSTD_c_contentSizeFlag, 0);
}

void *
packer_zfs_zstd_open(const struct packer_name *name, size_t most)
{
	struct zfs_zstd *z = sys_malloc(sizeof(*z));

	(void)most;
	if (z == NULL)
		return NULL;
	*z = (struct zfs_zstd){ .lib = name->zstd == NULL ? &linked :
	    name->zstd, .level = name->level };
	z->exact = z->lib->version() == PACKER_ZSTD_ZFS;
	if (z->exact)
		return z;
	if (!make_context(z)) {
		packer_zfs_zstd_close(z);
		return NULL;
	}
#ifdef ZSTD_c_useRowMatchFinder
	set(z, ZSTD_c_useRowMatchFinder, ZSTD_ps_disable);
#endif
#ifdef ZSTD_c_useBlockSplitter
	set(z, ZSTD_c_useBlockSplitter, ZSTD_ps_disable);
#endif
	return z;
}

void
packer_zfs_zstd_close(void *state)
{
	struct zfs_zstd *z = state;

	z->lib->release(z->c);
	sys_free(z);
}

/* Prepares the context of a later version for a record of len bytes. */
static bool
imitate(const struct zfs_zstd *z, size_t len)
{
	static const uint8_t prefix[] = { 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a,
	    0x7c, 0x15 };
	ZSTD_compressionParameters p = z->lib->parameters(z->level, len, 0);
	bool fast = p.strategy == ZSTD_dfast;

	/*
	 * The parameters of a dfast level are set explicitly, because the
	 * library would otherwise include the size of the prefix, which matches
	 * no data, when choosing them; 0 restores those of another level.
	 */
	if (!fast)
		p = (ZSTD_compressionParameters){ 0 };
	/*
	 * A record that did not fit leaves its frame open, and neither
	 * parameters nor a prefix can be set until that frame is abandoned.
	 */
	return !z->lib->is_error(z->lib->reset(z->c,
	    ZSTD_reset_session_only)) &&
	    set(z, ZSTD_c_windowLog, (int)p.windowLog) &&
	    set(z, ZSTD_c_chainLog, (int)p.chainLog) &&
	    set(z, ZSTD_c_hashLog, (int)p.hashLog) &&
	    set(z, ZSTD_c_searchLog, (int)p.searchLog) &&
	    set(z, ZSTD_c_minMatch, (int)p.minMatch) &&
	    set(z, ZSTD_c_targetLength, (int)p.targetLength) &&
	    set(z, ZSTD_c_strategy, (int)p.strategy) &&
	    (!fast || !z->lib->is_error(z->lib->prefix(z->c, prefix,
	    sizeof(prefix))));
}

size_t
packer_zfs_zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	struct zfs_zstd *z = state;
	size_t room = cap + PACKER_ZSTD_SLACK, n = 0;
	bool ready;

	if (z->exact) {
		room = cap;
		ready = make_context(z);
	} else {
		ready = imitate(z, len);
	}
	if (ready)
		n = z->lib->compress(z->c, out, room, in, len);
	if (z->lib->is_error(n) || n > cap)
		n = 0;
	if (z->exact) {
		z->lib->release(z->c);
		z->c = NULL;
	}
	return n;
}
