/*
 * The file tree that every sandbox has. It is built from descriptors on a staging directory in the sandbox's own mount namespace:
 * the host's root and system directories one by one and never recursively, so that no other mount of the host comes along.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "helper.h"

#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define PLAIN (SAFE | MOUNT_ATTR_NOEXEC)

/* Mounts a new file system on a directory of the new root. Returns a descriptor of it or -1. */
static int put_new(int root, const char *where, const char *type, const struct mount_option *options, uint64_t attributes, struct error *err)
{
	fd_auto int target = open_in_root(root, where);
	fd_auto int fd = target < 0 ? -1 : mount_new(type, options, attributes);

	if (fd < 0 || mount_put(fd, target) < 0)
		return mount_failed(where, err);
	return take_fd(&fd);
}

static int put_tmpfs(int root, const char *where, const char *mode, uint64_t size, uint64_t attributes, struct error *err)
{
	char bytes[24];
	/* Inodes are kernel memory and charged to the agent, but not where it has no memory limit. */
	const struct mount_option options[] = { { "mode", mode }, { "size", bytes }, { "nr_inodes", "1048576" }, { NULL, NULL } };

	snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)size);
	return put_new(root, where, "tmpfs", options, attributes, err);
}

static int add_attributes(int mount, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };

	return mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof attr);
}

/* ---- the host's root and system directories ---- */

static const struct {
	const char *path;
	bool below; /* mounts below it come along too; /var holds those of containers, which do not */
} system_directories[] = {
	{ "/usr", true }, { "/etc", true }, { "/opt", true }, { "/nix", true }, { "/srv", true }, { "/var", false },
};

static bool is_system(const struct mount_line *line)
{
	if (strcmp(line->type, "autofs") == 0)
		return false;
	for (size_t i = 0; i < sizeof system_directories / sizeof *system_directories; i++) {
		size_t n = strlen(system_directories[i].path);

		if (strncmp(line->mountpoint, system_directories[i].path, n) != 0)
			continue;
		if (line->mountpoint[n] == '\0' || (line->mountpoint[n] == '/' && system_directories[i].below))
			return true;
	}
	return false;
}

struct building {
	int root;
	struct error *err;
};

static int bind_system_directory(void *context, const struct mount_line *line)
{
	const struct building *b = context;
	fd_auto int target = -1;
	fd_auto int fd = -1;

	if (!is_system(line))
		return 0;
	/* A mount that lies hidden under another one is not reachable by its path, here as little as on the host. */
	target = open_in_root(b->root, line->mountpoint);
	if (target < 0)
		return 0;
	fd = mount_clone(AT_FDCWD, line->mountpoint, SAFE);
	return fd < 0 || mount_put(fd, target) < 0 ? mount_failed(line->mountpoint, b->err) : 0;
}

static int host_root(const char *staging, struct error *err)
{
	fd_auto int place = open(staging, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd_auto int root = mount_clone(AT_FDCWD, "/", SAFE);
	struct building b;

	if (place < 0 || root < 0 || mount_put(root, place) < 0)
		return mount_failed("/", err);
	b = (struct building){ root, err };
	fail(err, "mount_failed", "/proc/self/mountinfo cannot be read");
	if (mountinfo_each(bind_system_directory, &b) != 0)
		return -1;
	return take_fd(&root);
}

/* ---- /dev ---- */

static const struct {
	const char *name;
	unsigned major, minor;
} devices[] = {
	{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};

static const struct {
	const char *name, *target;
} links[] = {
	{ "ptmx", "pts/ptmx" }, { "fd", "/proc/self/fd" }, { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
};

/* Nodes are made, not bound: a bind would trust that the host's /dev/null is what it is called. */
static int fill_dev(int dev, struct error *err)
{
	static const char *const directories[] = { "pts", "shm", "mqueue" };

	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (mknodat(dev, devices[i].name, S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)) < 0)
			return mount_failed("/dev", err);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (symlinkat(links[i].target, dev, links[i].name) < 0)
			return mount_failed("/dev", err);
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		if (mkdirat(dev, directories[i], 0755) < 0)
			return mount_failed("/dev", err);
	return 0;
}

static int mount_dev(int root, const struct base_options *o, struct error *err)
{
	char gid[16];
	const struct mount_option pts_options[] = { { "ptmxmode", "0666" }, { "mode", "0620" }, { "gid", gid }, { NULL, NULL } };
	fd_auto int dev = put_tmpfs(root, "/dev", "0755", 1 << 20, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	fd_auto int pts = -1;
	fd_auto int shm = -1;
	fd_auto int queues = -1;
	struct error ignored;

	snprintf(gid, sizeof gid, "%u", o->tty_gid);
	if (dev < 0 || fill_dev(dev, err) < 0)
		return -1;
	pts = put_new(root, "/dev/pts", "devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	shm = pts < 0 ? -1 : put_tmpfs(root, "/dev/shm", "1777", o->shm_size, SAFE, err);
	if (shm < 0)
		return -1;
	queues = put_new(root, "/dev/mqueue", "mqueue", NULL, PLAIN, &ignored); /* not every kernel has it */
	return add_attributes(dev, MOUNT_ATTR_RDONLY) < 0 ? mount_failed("/dev", err) : 0;
}

/* ---- /proc ---- */

/* What tells of, or changes, the whole machine. Root's permissions guard most of it; a mount holds where they do not. */
static const char *const proc_read_only[] = { "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi" };
static const char *const proc_hidden_files[] = { "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/latency_stats",
						 "/proc/sched_debug", "/proc/kmsg", "/proc/kallsyms" };
static const char *const proc_hidden_directories[] = { "/proc/scsi", "/proc/asound", "/proc/driver" };

static int make_read_only(int root, const char *path, struct error *err)
{
	fd_auto int target = open_in_root(root, path);
	fd_auto int fd = target < 0 ? -1 : mount_clone(target, "", PLAIN | MOUNT_ATTR_RDONLY);

	if (target < 0 && errno == ENOENT)
		return 0;
	return fd < 0 || mount_put(fd, target) < 0 ? mount_failed(path, err) : 0;
}

static int hide_file(int root, const char *path, struct error *err)
{
	fd_auto int target = open_in_root(root, path);
	fd_auto int null = target < 0 ? -1 : open_in_root(root, "/dev/null");
	fd_auto int fd = null < 0 ? -1 : mount_clone(null, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY);

	if (target < 0 && errno == ENOENT)
		return 0;
	return fd < 0 || mount_put(fd, target) < 0 ? mount_failed(path, err) : 0;
}

static int hide_directory(int root, const char *path, struct error *err)
{
	fd_auto int target = open_in_root(root, path);
	fd_auto int fd = -1;

	if (target < 0 && errno == ENOENT)
		return 0;
	fd = put_tmpfs(root, path, "0555", 4096, PLAIN | MOUNT_ATTR_RDONLY, err);
	return fd < 0 ? -1 : 0;
}

static int mount_proc(int root, struct error *err)
{
	fd_auto int proc = put_new(root, "/proc", "proc", NULL, PLAIN, err);

	if (proc < 0)
		return -1;
	for (size_t i = 0; i < sizeof proc_read_only / sizeof *proc_read_only; i++)
		if (make_read_only(root, proc_read_only[i], err) < 0)
			return -1;
	for (size_t i = 0; i < sizeof proc_hidden_files / sizeof *proc_hidden_files; i++)
		if (hide_file(root, proc_hidden_files[i], err) < 0)
			return -1;
	for (size_t i = 0; i < sizeof proc_hidden_directories / sizeof *proc_hidden_directories; i++)
		if (hide_directory(root, proc_hidden_directories[i], err) < 0)
			return -1;
	return 0;
}

/* ---- /sys ---- */

static int make_directories(int dir, const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mkdirat(dir, paths[i], 0755) < 0)
			return -1;
	return 0;
}

/* The agent's own group, which is the root of its cgroup namespace. Programs read their memory limit from it. */
static int show_cgroup(int root, const struct base_options *o)
{
	static const struct mount_option memory[] = { { "memory", NULL }, { NULL, NULL } };
	struct error ignored;
	fd_auto int fd = o->cgroup2
		? put_new(root, "/sys/fs/cgroup", "cgroup2", NULL, PLAIN | MOUNT_ATTR_RDONLY, &ignored)
		: put_new(root, "/sys/fs/cgroup/memory", "cgroup", memory, PLAIN | MOUNT_ATTR_RDONLY, &ignored);

	return fd < 0 ? -1 : 0;
}

static int mount_sys(int root, const struct base_options *o, struct error *err)
{
	static const char *const directories[] = { "fs", "fs/cgroup", "fs/cgroup/memory", "devices", "devices/system", "devices/system/cpu" };
	fd_auto int sys = put_tmpfs(root, "/sys", "0755", 1 << 20, PLAIN, err);
	fd_auto int target = -1;
	fd_auto int cpus = -1;

	if (sys < 0)
		return -1;
	if (make_directories(sys, directories, sizeof directories / sizeof *directories) < 0)
		return mount_failed("/sys", err);
	/* How many CPUs there are, and their caches: build tools size themselves by it. */
	target = open_in_root(root, "/sys/devices/system/cpu");
	cpus = mount_clone(AT_FDCWD, "/sys/devices/system/cpu", PLAIN | MOUNT_ATTR_RDONLY);
	if (target < 0 || cpus < 0 || mount_put(cpus, target) < 0)
		return mount_failed("/sys/devices/system/cpu", err);
	show_cgroup(root, o);
	return add_attributes(sys, MOUNT_ATTR_RDONLY) < 0 ? mount_failed("/sys", err) : 0;
}

/* ---- /run, /tmp ---- */

/* Makes the directories above a path in a file system that is ours alone so far. */
static int make_parents(int dir, const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(part, sizeof part, "%.*s", (int)i, path);
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* /etc/resolv.conf is often a link into /run: that one file is shown. */
static int show_resolver(int root, int run, struct error *err)
{
	char path[PATH_MAX];
	fd_auto int source = -1;
	fd_auto int target = -1;

	if (!realpath("/etc/resolv.conf", path) || strncmp(path, "/run/", 5) != 0)
		return 0;
	source = mount_clone(AT_FDCWD, path, PLAIN | MOUNT_ATTR_RDONLY);
	if (source < 0 || make_parents(run, path + 5) < 0)
		return mount_failed(path, err);
	target = openat(run, path + 5, O_CREAT | O_EXCL | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	close_fd(&target);
	target = open_in_root(root, path);
	return target < 0 || mount_put(source, target) < 0 ? mount_failed(path, err) : 0;
}

static int mount_run(int root, struct error *err)
{
	fd_auto int run = put_tmpfs(root, "/run", "0755", 16 << 20, SAFE, err);

	return run < 0 ? -1 : show_resolver(root, run, err);
}

static int mount_tmp(int root, const struct base_options *o, struct error *err)
{
	fd_auto int tmp = put_tmpfs(root, "/tmp", "1777", o->tmp_size, SAFE, err);
	fd_auto int vartmp = tmp < 0 ? -1 : put_tmpfs(root, "/var/tmp", "1777", o->tmp_size, SAFE, err);

	return vartmp < 0 ? -1 : 0;
}

/* The helper's socket lies in /run or /tmp as a rule, which are empty here; anywhere else its directory is covered. */
static int hide_socket(int root, const char *directory, struct error *err)
{
	fd_auto int inside = open_in_root(root, directory);
	struct stat in, out;

	if (inside < 0 || fstat(inside, &in) < 0 || stat(directory, &out) < 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return hide_directory(root, directory, err);
}

int base_build(const struct base_options *o, struct error *err)
{
	fd_auto int root = host_root(o->staging, err);
	mode_t mask = umask(0);
	bool built = root >= 0 && mount_dev(root, o, err) == 0 && mount_proc(root, err) == 0 && mount_sys(root, o, err) == 0 &&
		     mount_tmp(root, o, err) == 0 && mount_run(root, err) == 0 && hide_socket(root, o->socket_dir, err) == 0;

	umask(mask);
	return built ? take_fd(&root) : -1;
}

int base_enter(int root, struct error *err)
{
	/* The old root ends up on top of the new one, and is let go from there: nothing of it keeps a name. */
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return mount_failed("the new root cannot be entered", err);
	return 0;
}
