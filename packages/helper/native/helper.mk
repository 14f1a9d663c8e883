# Objects of drover-helper, one idea per file; helper.h says what each offers.
HELPER = helper.o error.o files.o config.o accounts.o records.o protocol.o connection.o registry.o \
	cgroup.o cgroup-v1.o cgroup-v2.o limits.o watch.o child.o operations.o waits.o spawn.o reconcile.o \
	launcher.o namespaces.o mounts.o base.o client-mounts.o drop.o seccomp.o landlock.o check.o
