#include "init-kill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* To the whole process group of the pidfd's process; Linux 6.9. */
#define SIGNAL_PROCESS_GROUP (1u << 2)

#define SESSION_ROUNDS 20

struct process {
	char state;
	pid_t group, session;
};

/* Returns -1 when the process is gone. */
static int read_process(pid_t pid, struct process *out)
{
	char path[32], text[512], *after_name;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	/* The name is the program's to choose and may hold brackets and blanks: only what follows the last bracket counts. */
	after_name = strrchr(text, ')');
	if (!after_name || sscanf(after_name + 1, " %c %*d %d %d", &out->state, &out->group, &out->session) != 3)
		return -1;
	return 0;
}

static bool is_spared(pid_t pid, pid_t session, const pid_t *spared, size_t nspared)
{
	for (size_t i = 0; i < nspared; i++)
		if (spared[i] == session || spared[i] == pid)
			return true;
	return false;
}

/*
 * A group at once, where the kernel can: a program that forks faster than it is found loses its whole family. Groups are made within
 * sessions, and every job begins with a session of its own, so a group other than ours holds nobody from outside.
 */
static bool signal_group(int pidfd, pid_t group)
{
	return group != getpgrp() && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, SIGNAL_PROCESS_GROUP) == 0;
}

/* Kills by pidfd, so that a number that was given to another process in between is never hit. Returns false when there was nobody. */
static bool kill_one(pid_t pid, const pid_t *spared, size_t nspared)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct process process;
	bool alive = false;

	if (fd < 0)
		return false;
	if (read_process(pid, &process) == 0 && process.state != 'Z' && !is_spared(pid, process.session, spared, nspared)) {
		alive = syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
		if (alive)
			(void)signal_group(fd, process.group);
	}
	close(fd);
	return alive;
}

static bool kill_namespace(const pid_t *spared, size_t nspared)
{
	bool nothing = true;
	struct dirent *entry;
	DIR *proc;

	/* One signal to all at once: no process can fork out of its reach. */
	if (nspared == 0)
		return kill(-1, SIGKILL) < 0 && errno == ESRCH;
	proc = opendir("/proc");
	if (!proc)
		return false;
	while ((entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 1 && kill_one(pid, spared, nspared))
			nothing = false;
	}
	closedir(proc);
	return nothing;
}

static bool kill_children(const pid_t *spared, size_t nspared)
{
	char path[64];
	bool nothing = true;
	FILE *list;
	int pid;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	list = fopen(path, "re");
	if (!list)
		return false;
	while (fscanf(list, "%d", &pid) == 1)
		if (kill_one(pid, spared, nspared))
			nothing = false;
	fclose(list);
	return nothing;
}

bool kill_everything(bool is_pid1, const pid_t *spared, size_t nspared)
{
	return is_pid1 ? kill_namespace(spared, nspared) : kill_children(spared, nspared);
}

/* Returns true when there was somebody. */
static bool kill_members(pid_t session)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool somebody = false;

	if (!proc)
		return false;
	while ((entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);
		struct process process;
		int fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

		if (fd < 0)
			continue;
		if (read_process(pid, &process) == 0 && process.session == session && process.state != 'Z')
			somebody |= syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
		close(fd);
	}
	closedir(proc);
	return somebody;
}

void kill_session(pid_t session)
{
	/* Once more while somebody is found: one that was killed may have forked just before. Bounded, since some die late. */
	for (int round = 0; round < SESSION_ROUNDS && kill_members(session); round++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}
