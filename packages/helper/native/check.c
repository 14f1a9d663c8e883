/* Is it so? Looked at from inside, as the agent, with the means of the agent. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper.h"

static int failed(const char *item, const char *what, struct error *err)
{
	return fail(err, "sandbox_check_failed", "%s: %s", item, what);
}

static ssize_t read_proc(const char *path, char *buf, size_t cap)
{
	fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, len = 0;

	if (fd < 0)
		return -1;
	while ((n = read(fd, buf + len, cap - 1 - (size_t)len)) > 0)
		len += n;
	buf[len] = '\0';
	return n < 0 || (size_t)len == cap - 1 ? -1 : len;
}

static bool status_is(const char *status, const char *key, const char *value)
{
	const char *line = strstr(status, key);
	size_t n = strlen(value);

	return line && strncmp(line + strlen(key), value, n) == 0 && line[strlen(key) + n] == '\n';
}

static int check_status(struct error *err)
{
	static const char *const sets[] = { "\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t", "\nCapBnd:\t", "\nCapAmb:\t" };
	char status[8192];

	if (read_proc("/proc/self/status", status, sizeof status) < 0)
		return failed("proc", "/proc/self/status cannot be read", err);
	for (size_t i = 0; i < 5; i++)
		if (!status_is(status, sets[i], "0000000000000000"))
			return failed("capabilities", "a capability set is not empty", err);
	if (!status_is(status, "\nNoNewPrivs:\t", "1"))
		return failed("no_new_privs", "it is not set", err);
	if (!status_is(status, "\nSeccomp:\t", "2"))
		return failed("seccomp", "no filter is in force", err);
	return 0;
}

static int check_identity(const struct launch *l, struct error *err)
{
	uid_t u = l->sandbox->agent_uid, ruid, euid, suid;
	gid_t g = l->sandbox->agent_gid, rgid, egid, sgid;

	if (getresuid(&ruid, &euid, &suid) < 0 || ruid != u || euid != u || suid != u || u == 0)
		return failed("identity", "the uid is not the agent's", err);
	if (getresgid(&rgid, &egid, &sgid) < 0 || rgid != g || egid != g || sgid != g || g == 0)
		return failed("identity", "the gid is not the agent's", err);
	if (getgroups(0, NULL) != 0)
		return failed("identity", "supplementary groups are left", err);
	if (setresuid(0, 0, 0) == 0)
		return failed("identity", "the way back to root is open", err);
	return getpid() == 1 ? 0 : failed("pid", "not pid 1 of a namespace of its own", err);
}

static int check_no_user_namespace(struct error *err)
{
	return unshare(CLONE_NEWUSER) == 0 ? failed("user_namespace", "a nested one can be made", err) : 0;
}

static bool in_list(int fd, const int *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kept[i] == fd)
			return true;
	return fd <= 2;
}

static int check_descriptors(const int *kept, size_t count, struct error *err)
{
	DIR *dir = opendir("/proc/self/fd");
	bool stray = false;

	if (!dir)
		return failed("descriptors", "/proc/self/fd cannot be read", err);
	for (struct dirent *e; (e = readdir(dir));) {
		int fd = e->d_name[0] == '.' ? dirfd(dir) : atoi(e->d_name);

		stray |= fd != dirfd(dir) && !in_list(fd, kept, count);
	}
	closedir(dir);
	return stray ? failed("descriptors", "one is open that should not be", err) : 0;
}

static int check_mounts(struct error *err)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t cap = 0, roots = 0;
	bool shared = false, setuid = false;

	if (!file)
		return failed("mounts", "/proc/self/mountinfo cannot be read", err);
	while (getline(&line, &cap, file) > 0) {
		char *dash = strstr(line, " - "), *rest = line, *mountpoint = NULL;

		if (dash)
			*dash = '\0';
		shared |= strstr(line, " shared:") || strstr(line, " master:");
		setuid |= !strstr(line, "nosuid");
		for (int i = 0; i < 5; i++)
			mountpoint = rest ? strsep(&rest, " ") : NULL;
		roots += mountpoint && strcmp(mountpoint, "/") == 0;
	}
	free(line);
	fclose(file);
	if (shared)
		return failed("propagation", "a mount is not private", err);
	if (setuid)
		return failed("nosuid", "a mount honours set-uid bits", err);
	return roots == 1 ? 0 : failed("old_root", "there is more than one root", err);
}

static int check_socket(const struct config *config, struct error *err)
{
	struct stat st;

	return stat(config->socket, &st) == 0 && S_ISSOCK(st.st_mode) ? failed("helper_socket", "it can be reached from inside", err) : 0;
}

/* Read in the new cgroup namespace, whose root is the `agent` group: the `side` groups are its neighbours. */
int check_groups(const struct launch *l, struct error *err)
{
	char text[4096];
	size_t found = 0;

	if (read_proc("/proc/self/cgroup", text, sizeof text) < 0)
		return failed("groups", "/proc/self/cgroup cannot be read", err);
	for (const char *p = text; (p = strstr(p, ":/../side\n")); p++)
		found++;
	return found == l->procs_count ? 0 : failed("groups", "not in the side group of every hierarchy", err);
}

int check_sandbox(const struct launch *l, const struct config *config, const int *kept, size_t kept_count, struct error *err)
{
	if (check_identity(l, err) < 0 || check_status(err) < 0 || check_no_user_namespace(err) < 0)
		return -1;
	if (check_descriptors(kept, kept_count, err) < 0 || check_mounts(err) < 0)
		return -1;
	return check_socket(config, err);
}
