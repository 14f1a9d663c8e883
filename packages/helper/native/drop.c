#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "helper.h"

/*
 * Effective uid, gid and groups (and with them those for files) become the other's; the kernel empties the effective capabilities with the
 * uid. The real and saved uids stay 0, so that the other can neither signal nor trace this process meanwhile.
 */
int become(uid_t uid, gid_t gid, const gid_t *groups, size_t count)
{
	if (setgroups(count, groups) < 0 || setresgid((gid_t)-1, gid, (gid_t)-1) < 0)
		return -1;
	return setresuid((uid_t)-1, uid, (uid_t)-1);
}

int become_root(void)
{
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0 || setresgid((gid_t)-1, 0, (gid_t)-1) < 0)
		return -1;
	return setgroups(0, NULL);
}

int drop_to_peer(const struct peer *peer, struct error *err)
{
	if (setgroups(peer->group_count, peer->groups) < 0 || setresgid(peer->gid, peer->gid, peer->gid) < 0 ||
	    setresuid(peer->uid, peer->uid, peer->uid) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_errno(err, "internal", "the keeper's identity cannot be taken on");
	return 0;
}

static int empty_bounding_set(void)
{
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return errno == EINVAL && cap > 0 ? 0 : -1;
	return 0;
}

static int clear_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &header, none);
}

int drop_to_agent(uid_t uid, gid_t gid, struct error *err)
{
	static const struct rlimit no_core = { 0, 0 };
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
				   SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (uid == 0 || gid == 0)
		return fail(err, "internal", "an agent is never root");
	/* Keys of the session that started the daemon would be found through it. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 && errno != ENOSYS)
		return fail_errno(err, "spawn_failed", "a session keyring of its own");
	if (setrlimit(RLIMIT_CORE, &no_core) < 0 || prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 || empty_bounding_set() < 0)
		return fail_errno(err, "spawn_failed", "the bounding set cannot be emptied");
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return fail_errno(err, "spawn_failed", "the agent's identity cannot be taken on");
	if (clear_capabilities() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail_errno(err, "spawn_failed", "capabilities cannot be given up");
	return 0;
}
