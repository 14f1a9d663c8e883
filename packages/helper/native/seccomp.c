/*
 * What an agent cannot ask the kernel for. A list of refusals, not of permissions: agents run every program there is, and what they must not
 * have is privilege, which the rest of the sandbox has taken away already. The filter closes ways round it and rarely used parts of the kernel.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "helper.h"

#define LOW32 UINT64_C(0xffffffff)
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* By name, so that one list serves every architecture: a call that one does not have is passed over. */
static const char *const refused[] = {
	/* keys of the kernel, programs in the kernel, counters: each has given root to somebody */
	"keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	/* namespaces and mounts */
	"setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree",
	"open_tree_attr", "mount_setattr",
	/* the machine */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module", "reboot", "swapon",
	"swapoff", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
	"stime", "sethostname", "setdomainname", "vhangup", "nfsservctl", "lookup_dcookie", "_sysctl", "sysfs", "uselib", "ustat", "vm86",
	"vm86old", "modify_ldt", "pciconfig_iobase", "pciconfig_read", "pciconfig_write",
	/* files and descriptors that belong to others */
	"open_by_handle_at", "fanotify_init", "move_pages", "migrate_pages", "mbind", "set_mempolicy", "kcmp",
};

static int refuse_by_name(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		int call = seccomp_syscall_resolve_name(refused[i]);

		if (call != __NR_SCMP_ERROR && call >= 0 && seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 0) < 0)
			return -1;
	}
	return 0;
}

/* New namespaces of any kind: in a user namespace an agent would be root again, over a large and rarely tried part of the kernel. */
static int refuse_namespaces(scmp_filter_ctx ctx)
{
	static const uint64_t flags[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		const struct scmp_arg_cmp has = SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]);

		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1, has) < 0 ||
		    seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, has) < 0)
			return -1;
	}
	/* In clone() this bit is part of the exit signal's number. */
	if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWTIME, CLONE_NEWTIME)) < 0)
		return -1;
	/* Its flags are behind a pointer, where a filter cannot look. "No such call" makes libc use clone(). */
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* The kernel looks at the low 32 bits of the number: so must the filter, else high bits would lead past it. */
static int refuse_terminal_input(scmp_filter_ctx ctx)
{
	static const uint64_t requests[] = { TIOCSTI, TIOCLINUX };

	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, requests[i])) < 0)
			return -1;
	return 0;
}

/* Unix, IPv4, IPv6 and netlink are left: no raw packets, no way to a hypervisor, no kernel crypto, no protocols that nobody needs. */
static int refuse_families(scmp_filter_ctx ctx)
{
	for (uint64_t family = 0; family < AF_PACKET; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
			continue;
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, family)) < 0)
			return -1;
	}
	/* All above, and every number with high bits set, which the kernel would cut off. */
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GE, AF_PACKET));
}

/*
 * Limits of pid 1. The kernel lets a process set those of any other of its uid, dumpable or not; an init that may open no more descriptors
 * is deaf to its keeper, and settling would wait for it without end.
 */
static int refuse_limits_of_init(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, 1));
}

static int export_program(scmp_filter_ctx ctx, struct sock_fprog *out)
{
	fd_auto int fd = memfd_create("seccomp", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return -1;
	out->len = (unsigned short)((size_t)st.st_size / sizeof *out->filter);
	out->filter = malloc((size_t)st.st_size);
	return out->filter && pread(fd, out->filter, (size_t)st.st_size, 0) == st.st_size ? 0 : -1;
}

int seccomp_build(struct sock_fprog *out, struct error *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc = -1;

	/* i386 and x32 programs would reach the same calls under other numbers. */
	if (ctx && seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
	    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0 && refuse_by_name(ctx) == 0 && refuse_namespaces(ctx) == 0 &&
	    refuse_terminal_input(ctx) == 0 && refuse_families(ctx) == 0 && refuse_limits_of_init(ctx) == 0)
		rc = export_program(ctx, out);
	if (ctx)
		seccomp_release(ctx);
	return rc < 0 ? fail(err, "internal", "the seccomp filter cannot be built") : 0;
}

int seccomp_enter(const struct sock_fprog *filter, struct error *err)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0) < 0)
		return fail_errno(err, "spawn_failed", "the seccomp filter is not accepted");
	return 0;
}
