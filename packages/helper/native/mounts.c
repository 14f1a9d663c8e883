#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "helper.h"

/* Undoes the octal escapes of mountinfo in place. */
static void unescape(char *text)
{
	char *out = text;

	for (char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] && p[3]) {
			*out++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 3;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

/* "ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS... - TYPE SOURCE SUPEROPTIONS" */
static bool split_line(char *text, struct mount_line *line)
{
	char *dash = strstr(text, " - "), *rest = text;

	if (!dash)
		return false;
	*dash = '\0';
	for (int i = 0; i < 5; i++)
		line->mountpoint = rest ? strsep(&rest, " ") : NULL;
	rest = dash + 3;
	line->type = strsep(&rest, " ");
	if (rest)
		strsep(&rest, " ");
	line->options = rest ? rest : line->type + strlen(line->type);
	if (!line->mountpoint)
		return false;
	unescape(line->mountpoint);
	return true;
}

int mountinfo_each(int (*seen)(void *context, const struct mount_line *line), void *context)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *text = NULL;
	size_t cap = 0;
	int rc = 0;

	if (!file)
		return -1;
	while (rc == 0 && getline(&text, &cap, file) > 0) {
		struct mount_line line;

		text[strcspn(text, "\n")] = '\0';
		if (split_line(text, &line))
			rc = seen(context, &line);
	}
	free(text);
	fclose(file);
	return rc;
}

int mount_failed(const char *where, struct error *err)
{
	return fail_errno(err, "mount_failed", "%s", where);
}

int mount_clone(int dir, const char *path, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes, .propagation = MS_PRIVATE };
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | (*path ? 0 : AT_EMPTY_PATH);
	int fd = open_tree(dir, path, flags);

	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
		close_fd(&fd);
	return fd;
}

int mount_new(const char *type, const struct mount_option *options, uint64_t attributes)
{
	fd_auto int fs = fsopen(type, FSOPEN_CLOEXEC);

	if (fs < 0)
		return -1;
	for (; options && options->key; options++) {
		unsigned command = options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (fsconfig(fs, command, options->key, options->value, 0) < 0)
			return -1;
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
}

int mount_put(int mount, int target)
{
	return move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int open_in_root(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = -1;

	/* EAGAIN: a rename or mount happened somewhere while the kernel walked, and it could not be sure that it stayed inside. */
	for (int i = 0; i < 16; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

uint64_t mount_id(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}
