/*
 * proc_clone.c - a child that shares our memory until it calls exec
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The C library's clone(2) cannot create the child in a cgroup; clone3(2) can,
 * but has no wrapper in the C library.  Moving the child afterwards takes a
 * lock, which may cost milliseconds, and fork(2) copies page tables.  Therefore
 * the system call is made in assembly.  The child has its own stack and never
 * returns from start(), so it does not touch the caller's frame.
 */
#include "measure/proc.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && defined(SYS_clone3)
static long
clone3_call(struct clone_args *a, int (*start)(void *), void *arg)
{
	register int (*r12)(void *) __asm__("r12") = start;
	register void *r13 __asm__("r13") = arg;
	long rc;

	__asm__ volatile(
	    "syscall\n\t"
	    "test %%rax, %%rax\n\t"
	    "jnz 1f\n\t"
	    "xor %%ebp, %%ebp\n\t"
	    "mov %%r13, %%rdi\n\t"
	    "call *%%r12\n\t"
	    "hlt\n"
	    "1:"
	    : "=a"(rc)
	    : "0"((long)SYS_clone3), "D"(a), "S"(sizeof(*a)), "r"(r12),
	      "r"(r13)
	    : "rcx", "r11", "memory", "cc");
	return rc;
}
#elif defined(__aarch64__) && defined(SYS_clone3)
static long
clone3_call(struct clone_args *a, int (*start)(void *), void *arg)
{
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)a;
	register long x1 __asm__("x1") = sizeof(*a);
	register int (*x19)(void *) __asm__("x19") = start;
	register void *x20 __asm__("x20") = arg;

	__asm__ volatile(
	    "svc #0\n\t"
	    "cbnz x0, 1f\n\t"
	    "mov x29, xzr\n\t"
	    "mov x30, xzr\n\t"
	    "mov x0, x20\n\t"
	    "blr x19\n\t"
	    "brk #0\n"
	    "1:"
	    : "+r"(x0)
	    : "r"(x8), "r"(x1), "r"(x19), "r"(x20)
	    : "memory", "cc");
	return x0;
}
#else
static long
clone3_call(struct clone_args *a, int (*start)(void *), void *arg)
{
	(void)a;
	(void)start;
	(void)arg;
	return -ENOSYS;
}
#endif

pid_t
proc_clone(int (*start)(void *), void *top, void *arg, int group)
{
	struct clone_args a = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)top - PROC_STACK_B,
		.stack_size = PROC_STACK_B,
		.cgroup = (uint64_t)group,
	};
	int pid;

	if (group >= 0)
		return (pid_t)clone3_call(&a, start, arg);
	pid = clone(start, top, CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
	return pid == -1 ? -errno : pid;
}
