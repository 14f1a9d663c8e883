#include "init-kill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_spared(pid_t session, const pid_t *spared, size_t nspared)
{
	for (size_t i = 0; i < nspared; i++)
		if (spared[i] == session)
			return true;
	return false;
}

/* Session and state of a process from /proc/PID/stat. Returns -1 when it is gone or a zombie, which needs no kill. */
static int session_of(pid_t pid, pid_t *session)
{
	char path[32], text[512], state, *after_name;
	ssize_t n;
	int fd, sid;

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
	if (!after_name || sscanf(after_name + 1, " %c %*d %*d %d", &state, &sid) != 2 || state == 'Z')
		return -1;
	*session = sid;
	return 0;
}

/* Kills by pidfd, so that a number that was given to another process in between is never hit. */
static bool kill_one(pid_t pid, const pid_t *spared, size_t nspared)
{
	pid_t session;
	bool alive = false;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return false;
	if (session_of(pid, &session) == 0 && !is_spared(session, spared, nspared))
		alive = syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
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
