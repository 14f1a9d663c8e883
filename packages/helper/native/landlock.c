/*
 * Abstract Unix sockets belong to a network namespace and have no permissions: with the host's network an agent could talk to every desktop
 * and every other agent. From Linux 6.12 on, a Landlock scope shuts them off.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "helper.h"

#define SCOPE_ABSTRACT_UNIX_SOCKET UINT64_C(1)
#define ABI_WITH_SCOPES 6
#define CREATE_RULESET_VERSION 1u

/* As the kernel has it since 6.12; the system's headers may be older. */
struct ruleset {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

const char *landlock_missing(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return abi < ABI_WITH_SCOPES ? "keeping agents from the host's abstract sockets needs Landlock of Linux 6.12" : NULL;
}

int landlock_enter(struct error *err)
{
	const struct ruleset rules = { .scoped = SCOPE_ABSTRACT_UNIX_SOCKET };
	fd_auto int fd = -1;

	if (landlock_missing())
		return 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return fail_errno(err, "spawn_failed", "Landlock");
	return 0;
}
