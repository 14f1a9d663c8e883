#!/bin/sh
# Process 1 of the guest of uml-run. `share` (a directory of the host) comes from the kernel's command line as an environment variable.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# However this script ends, the guest powers off: reboot(LINUX_REBOOT_CMD_POWER_OFF), since halt(8) may want a system manager.
trap "perl -e 'syscall(169, 0xfee1dead, 672274793, 0x4321fedc, 0)'" EXIT

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755,size=75% tmpfs /mnt || exit

# The host's files below, whatever is written above, in memory.
modules=/usr/lib/uml/modules/$(uname -r)
# finit_module(2) through perl: not every host has insmod.
perl -e 'open my $f, "<", $ARGV[0] or die $!; my $none = ""; syscall(313, fileno $f, $none, 0) == 0 or die "overlay: $!\n"' \
	"$modules/kernel/fs/overlayfs/overlay.ko"
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work,redirect_dir=on overlay /mnt/root || exit
cd /mnt/root || exit
mkdir -p .host .share "lib/modules/$(uname -r)"
mount -t hostfs -o "$share" none .share
mount --bind "$modules" "lib/modules/$(uname -r)"
pivot_root . .host || exit

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /scratch
ln -sf /proc/self/fd /dev/fd
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up

if [ -b /dev/ubda ]; then
	mount -t ext4 /dev/ubda /scratch
	chmod 1777 /scratch
else
	mount -t tmpfs -o mode=1777 scratch /scratch
fi

export HOME=/root TMPDIR=/scratch LANG=C.UTF-8 IN_UML=1
cd /
setsid -w sh /.share/command >/.share/output 2>&1 </dev/null
echo $? >/.share/status.new
mv /.share/status.new /.share/status
sync
