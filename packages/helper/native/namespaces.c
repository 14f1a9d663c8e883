#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "helper.h"

#define TMP_SIZE (UINT64_C(1) << 30)
#define SHM_SIZE (UINT64_C(256) << 20)
#define TTY_GID 5 /* where /etc/group does not say */

static int join(const int *procs, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (write(procs[i], "0", 1) != 1)
			return fail_errno(err, "spawn_failed", "a group of the sandbox cannot be joined");
	return 0;
}

/* By way of `agent`, where the cgroup namespace is made: its root is then the group whose limits the agent's programs should read. */
static int enter_groups(struct launch *l, struct error *err)
{
	if (join(l->agent_procs, l->procs_count, err) < 0)
		return -1;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return fail_errno(err, "spawn_failed", "a cgroup namespace");
	if (join(l->side_procs, l->procs_count, err) < 0)
		return -1;
	return check_groups(l, err);
}

static int set_hostname(const struct launch *l, struct error *err)
{
	const char *name = records_get(l->spec, "hostname");

	if (name && sethostname(name, strlen(name)) < 0)
		return fail_errno(err, "spawn_failed", "hostname");
	return 0;
}

static uint64_t number_or(const struct records *spec, const char *key, uint64_t otherwise)
{
	const char *text = records_get(spec, key);
	uint64_t value;

	return text && parse_u64(text, 0, UINT64_MAX, &value) == 0 ? value : otherwise;
}

static int build_root(struct launch *l, struct error *err)
{
	static struct client_mounts mounts;
	const struct cgroups *cg = &l->h->cgroups;
	struct base_options base = {
		.tmp_size = number_or(l->spec, "tmp_size", TMP_SIZE), .shm_size = number_or(l->spec, "shm_size", SHM_SIZE),
		.tty_gid = TTY_GID, .cgroup2 = cg->home[CTL_MEMORY] && cg->home[CTL_MEMORY]->v2, .staging = l->h->staging,
		.socket_dir = l->h->socket_dir,
	};
	fd_auto int root = -1;

	account_group("tty", &base.tty_gid);
	/* First of all: from here on no mount of ours reaches the host, and none of the host's reaches us. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail_errno(err, "mount_failed", "private propagation");
	if (client_mounts_parse(l->spec, &mounts, err) < 0 ||
	    client_mounts_open(&mounts, l->peer, &l->h->config, l->h->socket_dir, err) < 0)
		return -1;
	root = base_build(&base, err);
	if (root < 0 || client_mounts_make(&mounts, root, l->h->staging, l->sandbox->agent_uid, l->sandbox->agent_gid, err) < 0)
		return -1;
	return base_enter(root, err);
}

static bool is_kept(int fd, const int *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kept[i] == fd)
			return true;
	return false;
}

/* Everything of the daemon's goes: sockets of clients, directories of the host. */
static int close_others(const int *kept, size_t count, struct error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int highest = 2;

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return fail_errno(err, "spawn_failed", "/dev/null");
	for (size_t i = 0; i < count; i++)
		highest = kept[i] > highest ? kept[i] : highest;
	for (int fd = 3; fd < highest; fd++)
		if (!is_kept(fd, kept, count))
			close(fd);
	return syscall(SYS_close_range, (unsigned)highest + 1, ~0u, 0) < 0 ? fail_errno(err, "spawn_failed", "close_range") : 0;
}

static int execute_init(struct launch *l, struct error *err)
{
	char ctl[16], procs[16 * (CTL_COUNT + 1)] = "";
	char *argv[] = { "drover-init", "--ctl-fd", ctl, "--agent-procs", procs, NULL };
	char *environment[] = { NULL };

	snprintf(ctl, sizeof ctl, "%d", l->ctl);
	fcntl(l->ctl, F_SETFD, 0);
	for (size_t i = 0; i < l->procs_count; i++) {
		size_t len = strlen(procs);

		snprintf(procs + len, sizeof procs - len, "%s%d", i ? "," : "", l->agent_procs[i]);
		fcntl(l->agent_procs[i], F_SETFD, 0);
	}
	syscall(SYS_execveat, l->init_program, "", argv, environment, AT_EMPTY_PATH);
	return fail_errno(err, "spawn_failed", "drover-init cannot be executed");
}

int namespaces_enter(struct launch *l, struct error *err)
{
	int kept[CTL_COUNT + 4];
	size_t count = 0;

	for (size_t i = 0; i < l->procs_count; i++)
		kept[count++] = l->agent_procs[i];
	kept[count++] = l->ctl;
	kept[count++] = l->init_program;
	kept[count++] = l->failed;
	if (enter_groups(l, err) < 0 || set_hostname(l, err) < 0 || build_root(l, err) < 0 || close_others(kept, count, err) < 0)
		return -1;
	if (drop_to_agent(l->sandbox->agent_uid, l->sandbox->agent_gid, err) < 0 || landlock_enter(err) < 0 ||
	    seccomp_enter(&l->h->filter, err) < 0)
		return -1;
	if (check_sandbox(l, &l->h->config, kept, count, err) < 0)
		return -1;
	return execute_init(l, err);
}
