import { existsSync, mkdirSync, readFileSync, statfsSync } from 'node:fs'
import { onPath } from '../../../charts/tests/helm.ts'
import { RefusedError } from '../command/refusal.ts'
import { type Hierarchies, hierarchies } from './cgroups.ts'
import { FOLDERS } from './folders.ts'

const GIB = 1024 ** 3
/** The free disk for a first build, and for a node with built programs and images. */
const FREE_FOR_BUILD_GIB = 15
const FREE_FOR_NODE_GIB = 4
const PROGRAMS = ['unshare', 'nsenter', 'ip', 'losetup', 'mount', 'umount']

/** Throws a RefusedError if this machine cannot have a node. Every command but the help calls it first. */
export function checkMachine(): void {
  if (process.platform !== 'linux')
    throw new RefusedError(`the node needs Linux, not ${process.platform}: use a virtual machine`)
  if (process.getuid?.() !== 0)
    throw new RefusedError('the node needs root for namespaces and mounts: run it with sudo')
}

/** Checks what a new node needs in addition, and returns the cgroups of this machine. */
export function checkForStart(mustBuild: boolean): Hierarchies {
  const missing = PROGRAMS.find((name) => onPath(name) === undefined)
  if (missing !== undefined) throw new RefusedError(`there is no ${missing}: apt-get install util-linux iproute2`)
  if (!/\toverlay$/m.test(readFileSync('/proc/filesystems', 'utf8'))) {
    throw new RefusedError('the kernel has no overlayfs: modprobe overlay')
  }
  const found = hierarchies()
  if (found === undefined) {
    throw new RefusedError(
      'no cgroup with the controllers cpu, cpuset, memory and pids is mounted: use a host or a VM that has them',
    )
  }
  mkdirSync(FOLDERS.cache, { recursive: true })
  const { bavail, bsize } = statfsSync(FOLDERS.cache)
  const [free, needed] = [(bavail * bsize) / GIB, mustBuild ? FREE_FOR_BUILD_GIB : FREE_FOR_NODE_GIB]
  if (free < needed) {
    throw new RefusedError(
      `${FOLDERS.cache} has ${free.toFixed(1)} GiB of free disk, and the node needs ${needed}: free some`,
    )
  }
  if (!existsSync('/dev/loop-control')) throw new RefusedError('there are no loop devices: modprobe loop')
  return found
}
