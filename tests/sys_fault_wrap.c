/*
 * sys_fault_wrap.c - calls that do not go through the system interface
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * NAME-fault is linked with --wrap=FUNCTION for each function below (see
 * tests/fault.cmake), so that calls of the tool itself come here, but not those
 * that libraries make among themselves.  The linker only knows names, so that no
 * headers are needed: here, every pointer is void *, and every enum int.
 * References are weak, because no tool is linked with all libraries.
 */
#include "sys_fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* FUNCTION(type, name, parameters, arguments): fails with that value. */
#define WRAP(kind, failed, type, name, params, args) \
	type __real_##name params __attribute__((weak)); \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		int error = fault_direct > 0 ? 0 : fault(kind); \
		if (error > 0) { \
			errno = error; \
			return failed; \
		} \
		return __real_##name args; \
	}

#define V void
#define P void *
#define C const void *
#define I int
#define U uint32_t
#define S size_t
#define L int64_t

#define MEMORY(...) WRAP(FAULT_MALLOC, NULL, __VA_ARGS__)
#define OPEN(...) WRAP(FAULT_OPENAT, -1, __VA_ARGS__)
#define OPEN_FILE(...) WRAP(FAULT_OPENAT, NULL, __VA_ARGS__)
#define PAIR(...) WRAP(FAULT_PIPE, -1, __VA_ARGS__)
#define CALL(kind, ...) WRAP(kind, -1, __VA_ARGS__)

/* The C library, which has names of its own for 64-bit offsets. */
MEMORY(P, calloc, (S n, S size), (n, size))
MEMORY(P, realloc, (P p, S size), (p, size))
MEMORY(P, strdup, (C s), (s))
MEMORY(P, strndup, (C s, S n), (s, n))
MEMORY(P, fdopen, (I fd, C mode), (fd, mode))
MEMORY(P, realpath, (C path, P to), (path, to))
MEMORY(P, getcwd, (P to, S size), (to, size))
OPEN_FILE(P, fopen64, (C path, C mode), (path, mode))
OPEN_FILE(P, opendir, (C path), (path))
OPEN_FILE(P, fdopendir, (I fd), (fd))
OPEN_FILE(P, setmntent, (C path, C mode), (path, mode))
OPEN(I, open64, (C path, I flags, U mode), (path, flags, mode))
OPEN(I, __open64_2, (C path, I flags), (path, flags))
PAIR(I, pipe2, (P ends, I flags), (ends, flags))
PAIR(I, socketpair, (I domain, I type, I protocol, P ends),
    (domain, type, protocol, ends))
PAIR(I, eventfd, (U count, I flags), (count, flags))
PAIR(I, memfd_create, (C name, U flags), (name, flags))
PAIR(I, signalfd, (I fd, C set, I flags), (fd, set, flags))
CALL(FAULT_DUP, I, dup, (I fd), (fd))
CALL(FAULT_DUP, I, dup2, (I fd, I to), (fd, to))
CALL(FAULT_STAT, I, fstat64, (I fd, P st), (fd, st))
CALL(FAULT_STAT, I, stat64, (C path, P st), (path, st))
CALL(FAULT_STAT, I, lstat64, (C path, P st), (path, st))
CALL(FAULT_STAT, I, fstatat64, (I fd, C path, P st, I flags),
    (fd, path, st, flags))
CALL(FAULT_STAT, I, fstatfs64, (I fd, P st), (fd, st))
CALL(FAULT_STAT, I, statfs64, (C path, P st), (path, st))
CALL(FAULT_STAT, I, access, (C path, I mode), (path, mode))
CALL(FAULT_STAT, I, faccessat, (I fd, C path, I mode, I flags),
    (fd, path, mode, flags))
CALL(FAULT_LSEEK, L, lseek64, (I fd, L to, I whence), (fd, to, whence))
CALL(FAULT_FTRUNCATE, I, ftruncate64, (I fd, L size), (fd, size))
CALL(FAULT_FTRUNCATE, I, fallocate64, (I fd, I mode, L from, L size),
    (fd, mode, from, size))
CALL(FAULT_PWRITE, L, pwritev64, (I fd, C parts, I n, L at),
    (fd, parts, n, at))
CALL(FAULT_READLINKAT, L, readlink, (C path, P to, S n), (path, to, n))
CALL(FAULT_READLINKAT, L, readlinkat, (I fd, C path, P to, S n),
    (fd, path, to, n))
CALL(FAULT_MKDIRAT, I, mkdir, (C path, U mode), (path, mode))
CALL(FAULT_MKDIRAT, I, mkdirat, (I fd, C path, U mode), (fd, path, mode))
WRAP(FAULT_MKDIRAT, NULL, P, mkdtemp, (P path), (path))
CALL(FAULT_UNLINKAT, I, unlinkat, (I fd, C path, I flags), (fd, path, flags))
CALL(FAULT_UNLINKAT, I, rmdir, (C path), (path))
CALL(FAULT_CHMOD, I, fchmod, (I fd, U mode), (fd, mode))
CALL(FAULT_CHOWN, I, fchown, (I fd, U uid, U gid), (fd, uid, gid))
CALL(FAULT_UTIMENS, I, futimens, (I fd, C times), (fd, times))
CALL(FAULT_SETXATTR, I, fsetxattr, (I fd, C name, C value, S n, I flags),
    (fd, name, value, n, flags))
CALL(FAULT_GETXATTR, L, fgetxattr, (I fd, C name, P value, S n),
    (fd, name, value, n))
CALL(FAULT_GETXATTR, L, flistxattr, (I fd, P names, S n), (fd, names, n))
CALL(FAULT_FSYNC, I, syncfs, (I fd), (fd))
CALL(FAULT_FORK, I, fork, (V), ())
CALL(FAULT_WAIT, I, waitpid, (I pid, P status, I flags), (pid, status, flags))
CALL(FAULT_WAIT, I, wait4, (I pid, P status, I flags, P usage),
    (pid, status, flags, usage))
CALL(FAULT_WAIT, I, waitid, (I type, U id, P info, I flags),
    (type, id, info, flags))
CALL(FAULT_POLL, I, poll, (P fds, S n, I ms), (fds, n, ms))
CALL(FAULT_LOCK, I, flock, (I fd, I how), (fd, how))
WRAP(FAULT_MMAP, (P)-1, P, mmap64, (P at, S n, I prot, I flags, I fd, L from),
    (at, n, prot, flags, fd, from))

/* The end of a directory is an error only if errno says so. */
WRAP(FAULT_GETDENTS, NULL, P, readdir64, (P dir), (dir))

/* These take a variable number of arguments. */
int __wrap_asprintf(char **to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int __wrap___asprintf_chk(char **to, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int __attribute__((format(printf, 2, 0)))
print_to_memory(char **to, const char *format, va_list ap)
{
	int error = fault(FAULT_MALLOC), n;

	if (error > 0) {
		*to = NULL;
		errno = error;
		return -1;
	}
	fault_direct++;
	n = vasprintf(to, format, ap);
	fault_direct--;
	return n;
}

int
__wrap_asprintf(char **to, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = print_to_memory(to, format, ap);
	va_end(ap);
	return n;
}

int
__wrap___asprintf_chk(char **to, int flag, const char *format, ...)
{
	va_list ap;
	int n;

	(void)flag;
	va_start(ap, format);
	n = print_to_memory(to, format, ap);
	va_end(ap);
	return n;
}

#define MAKE(...) WRAP(FAULT_LIBRARY, NULL, P, __VA_ARGS__)
#define FAILS(code, ...) WRAP(FAULT_LIBRARY, code, __VA_ARGS__)

/* zlib, libdeflate: Z_MEM_ERROR, Z_STREAM_ERROR */
MAKE(gzdopen, (I fd, C mode), (fd, mode))
FAILS(-4, I, deflateInit_, (P z, I level, C version, I size),
    (z, level, version, size))
FAILS(-4, I, deflateInit2_, (P z, I level, I method, I bits, I memory, I how,
    C version, I size), (z, level, method, bits, memory, how, version, size))
FAILS(-4, I, inflateInit2_, (P z, I bits, C version, I size),
    (z, bits, version, size))
FAILS(-2, I, deflateReset, (P z), (z))
FAILS(-2, I, deflate, (P z, I flush), (z, flush))
FAILS(-2, I, inflate, (P z, I flush), (z, flush))
FAILS(-4, I, compress2, (P to, P size, C from, unsigned long n, I level),
    (to, size, from, n, level))
MAKE(libdeflate_alloc_compressor, (I level), (level))
MAKE(libdeflate_alloc_decompressor, (V), ())

/* zstd: ZSTD_error_memory_allocation; valid parameters are always accepted */
#define ZSTD(...) WRAP(FAULT_LIBRARY, (S)-64, S, __VA_ARGS__)
MAKE(ZSTD_createCCtx, (V), ())
MAKE(ZSTD_createDCtx, (V), ())
MAKE(ZSTD_createDStream, (V), ())
ZSTD(ZSTD_CCtx_refPrefix, (P c, C from, S n), (c, from, n))
ZSTD(ZSTD_CCtx_reset, (P c, I what), (c, what))
ZSTD(ZSTD_DCtx_reset, (P c, I what), (c, what))
ZSTD(ZSTD_compress2, (P c, P to, S size, C from, S n), (c, to, size, from, n))
ZSTD(ZSTD_compressCCtx, (P c, P to, S size, C from, S n, I level),
    (c, to, size, from, n, level))
ZSTD(ZSTD_compressStream2, (P c, P to, P from, I end), (c, to, from, end))
ZSTD(ZSTD_decompressDCtx, (P c, P to, S size, C from, S n),
    (c, to, size, from, n))
ZSTD(ZSTD_decompressStream, (P c, P to, P from), (c, to, from))

/* xxhash */
MAKE(XXH32_createState, (V), ())
MAKE(XXH64_createState, (V), ())
MAKE(XXH3_createState, (V), ())

/* liblzma: LZMA_MEM_ERROR */
#define LZMA(...) WRAP(FAULT_LIBRARY, 5, I, __VA_ARGS__)
MAKE(lzma_index_init, (C allocator), (allocator))
LZMA(lzma_alone_decoder, (P z, uint64_t limit), (z, limit))
LZMA(lzma_alone_encoder, (P z, C options), (z, options))
LZMA(lzma_stream_decoder, (P z, uint64_t limit, U flags), (z, limit, flags))
LZMA(lzma_stream_decoder_mt, (P z, C options), (z, options))
LZMA(lzma_stream_encoder_mt, (P z, C options), (z, options))
LZMA(lzma_code, (P z, I how), (z, how))
LZMA(lzma_file_info_decoder, (P z, P index, uint64_t limit, uint64_t size),
    (z, index, limit, size))
LZMA(lzma_index_append, (P index, C a, uint64_t b, uint64_t c),
    (index, a, b, c))
LZMA(lzma_easy_buffer_encode, (U preset, I check, C a, C from, S n, P to,
    P at, S size), (preset, check, a, from, n, to, at, size))
LZMA(lzma_stream_buffer_encode, (P filters, I check, C a, C from, S n, P to,
    P at, S size), (filters, check, a, from, n, to, at, size))
LZMA(lzma_block_header_decode, (P block, C a, C in), (block, a, in))

/* OpenSSL: 0 */
#define SSL(...) WRAP(FAULT_LIBRARY, 0, I, __VA_ARGS__)
MAKE(BIO_new, (C method), (method))
MAKE(BIO_new_mem_buf, (C from, I n), (from, n))
MAKE(EVP_CIPHER_CTX_new, (V), ())
MAKE(EVP_CIPHER_fetch, (P l, C name, C what), (l, name, what))
MAKE(EVP_MD_CTX_new, (V), ())
MAKE(EVP_MD_fetch, (P l, C name, C what), (l, name, what))
MAKE(PEM_read_bio_PUBKEY, (P b, P x, P get, P u), (b, x, get, u))
MAKE(PEM_read_bio_PrivateKey, (P b, P x, P get, P u), (b, x, get, u))
MAKE(PEM_read_bio_X509, (P b, P x, P get, P u), (b, x, get, u))
MAKE(X509_get_pubkey, (P x), (x))
MAKE(X509_new, (V), ())
SSL(EVP_Digest, (C from, S n, P to, P size, C type, P engine),
    (from, n, to, size, type, engine))
SSL(EVP_DigestInit_ex2, (P c, C type, C what), (c, type, what))
SSL(EVP_DigestUpdate, (P c, C from, S n), (c, from, n))
SSL(EVP_DigestFinal_ex, (P c, P to, P n), (c, to, n))
SSL(EVP_DigestSignInit, (P c, P k, C type, P engine, P key),
    (c, k, type, engine, key))
SSL(EVP_DigestSign, (P c, P to, P size, C from, S n), (c, to, size, from, n))
SSL(EVP_DigestVerifyInit, (P c, P k, C type, P engine, P key),
    (c, k, type, engine, key))
SSL(EVP_DigestVerify, (P c, C sign, S size, C from, S n),
    (c, sign, size, from, n))
SSL(EVP_EncryptInit_ex2, (P c, C type, C key, C iv, C what),
    (c, type, key, iv, what))
SSL(EVP_EncryptUpdate, (P c, P to, P size, C from, I n),
    (c, to, size, from, n))
SSL(EVP_EncryptFinal_ex, (P c, P to, P size), (c, to, size))
SSL(EVP_CIPHER_CTX_ctrl, (P c, I what, I n, P value), (c, what, n, value))
SSL(X509_set_version, (P x, long version), (x, version))
SSL(X509_set_pubkey, (P x, P key), (x, key))
SSL(X509_set_issuer_name, (P x, C name), (x, name))
SSL(X509_sign, (P x, P key, C type), (x, key, type))
SSL(ASN1_INTEGER_set_uint64, (P a, uint64_t n), (a, n))
SSL(ASN1_TIME_set_string_X509, (P a, C text), (a, text))
SSL(PEM_write_bio_X509, (P b, C x), (b, x))
FAILS(-1, I, i2d_PUBKEY, (C key, P to), (key, to))

/* yajl: yajl_status_error, yajl_gen_in_error_state */
MAKE(yajl_alloc, (C calls, P functions, P arg), (calls, functions, arg))
MAKE(yajl_gen_alloc, (C functions), (functions))
FAILS(3, I, yajl_gen_string, (P g, C text, S n), (g, text, n))
FAILS(3, I, yajl_gen_number, (P g, C text, S n), (g, text, n))
FAILS(3, I, yajl_gen_map_open, (P g), (g))
FAILS(3, I, yajl_gen_map_close, (P g), (g))
FAILS(3, I, yajl_gen_array_open, (P g), (g))
FAILS(3, I, yajl_gen_array_close, (P g), (g))
FAILS(3, I, yajl_gen_get_buf, (P g, P text, P n), (g, text, n))

/* SQLite: SQLITE_NOMEM, SQLITE_IOERR; static values are bound without failure */
#define SQL(code, ...) WRAP(FAULT_LIBRARY, code, I, __VA_ARGS__)
SQL((*(P *)to = NULL, 7), sqlite3_open_v2, (C name, P to, I flags, C vfs),
    (name, to, flags, vfs))
SQL((*(P *)to = NULL, 7), sqlite3_prepare_v2, (P d, C text, I n, P to, P tail),
    (d, text, n, to, tail))
SQL(10, sqlite3_step, (P s), (s))
SQL(10, sqlite3_exec, (P d, C text, P row, P arg, P message),
    (d, text, row, arg, message))

/* libsquashfs: SQFS_ERROR_ALLOC */
#define SQFS(...) WRAP(FAULT_LIBRARY, -1, I, __VA_ARGS__)
MAKE(sqfs_frag_table_create, (U flags), (flags))
MAKE(sqfs_id_table_create, (U flags), (flags))
MAKE(sqfs_xattr_writer_create, (U flags), (flags))
SQFS(sqfs_frag_table_append, (P t, uint64_t at, U size, P i), (t, at, size, i))
SQFS(sqfs_frag_table_write, (P t, P f, P super, P c), (t, f, super, c))
SQFS(sqfs_id_table_id_to_index, (P t, U id, P to), (t, id, to))
SQFS(sqfs_id_table_write, (P t, P f, P super, P c), (t, f, super, c))
SQFS(sqfs_super_write, (C super, P f), (super, f))
SQFS(sqfs_write_table, (P f, P c, C from, S n, P at), (f, c, from, n, at))
SQFS(sqfs_xattr_writer_begin, (P x, U flags), (x, flags))
SQFS(sqfs_xattr_writer_add, (P x, C name, C value, S n), (x, name, value, n))
SQFS(sqfs_xattr_writer_end, (P x, P to), (x, to))
SQFS(sqfs_xattr_writer_flush, (P x, P f, P super, P c), (x, f, super, c))

/* libcurl: CURLM_OUT_OF_MEMORY, CURLUE_OUT_OF_MEMORY, CURLE_OUT_OF_MEMORY */
MAKE(curl_easy_init, (V), ())
MAKE(curl_multi_init, (V), ())
MAKE(curl_url, (V), ())
MAKE(curl_easy_escape, (P c, C text, I n), (c, text, n))
MAKE(curl_slist_append, (P list, C text), (list, text))
FAILS(27, I, curl_global_init, (long flags), (flags))
FAILS(3, I, curl_multi_add_handle, (P m, P c), (m, c))
FAILS(7, I, curl_url_get, (C u, I what, P to, U flags), (u, what, to, flags))
FAILS(7, I, curl_url_set, (P u, I what, C from, U flags),
    (u, what, from, flags))

/* libfuse */
MAKE(fuse_loop_cfg_create, (V), ())
FAILS(-1, I, fuse_session_mount, (P s, C dir), (s, dir))
FAILS(-1, I, fuse_opt_add_arg, (P a, C text), (a, text))
FAILS(-1, I, fuse_set_signal_handlers, (P s), (s))

/* POSIX regular expressions: REG_ESPACE */
FAILS(12, I, regcomp, (P to, C text, I flags), (to, text, flags))
