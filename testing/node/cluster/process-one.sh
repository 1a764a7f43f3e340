#!/bin/sh
# Process 1 of the node's namespaces. It mounts what the node sees, and reaps processes whose parent has ended.
# usage: process-one.sh STATE HOST v2
#    or: process-one.sh STATE HOST v1 OPTIONS...     OPTIONS select a hierarchy of cgroups: cpu,cpuacct
set -eu
state=$1 host=$2 cgroups=$3
shift 3

hostname "$host"
mount --make-rshared /
mount -t proc proc /proc
umount -R /sys
mount -t sysfs sysfs /sys
if [ "$cgroups" = v2 ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  mount -t tmpfs tmpfs /sys/fs/cgroup
  for options; do
    folder=/sys/fs/cgroup/${options#none,name=}
    mkdir "$folder"
    mount -t cgroup -o "$options" cgroup "$folder"
  done
  # Programs look for each controller under its own name.
  for options; do
    case $options in none,*) continue ;; esac
    for controller in $(echo "$options" | tr , ' '); do
      [ -e "/sys/fs/cgroup/$controller" ] || ln -s "$options" "/sys/fs/cgroup/$controller"
    done
  done
fi
# The kubelet sets these values for the whole machine. It finds the values that it wants, so it changes none.
for file in "$state"/kernel/*; do
  mount --bind "$file" "/proc/sys/$(basename "$file" | tr . /)"
done
mount --bind "$state/kubelet" /var/lib/kubelet
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry /var/lib/kubelet/pods

ip link set lo up
# The API server listens on the address of the Service `kubernetes`, so no kube-proxy is needed.
ip addr add 10.96.0.1/32 dev lo
ip link add node0 type bridge
ip addr add 10.89.0.1/24 dev node0
ip link set node0 up
echo 1 > /proc/sys/net/ipv4/ip_forward

touch "$state/mounted"
while :; do
  sleep 3600 &
  wait || true
done
