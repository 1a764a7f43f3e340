import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { removeImageStore } from '../../../images/tools/image-store.ts'
import { hierarchies, killIfAlive, removeCgroups } from './cgroups.ts'
import { FOLDERS } from './folders.ts'
import { runningNode } from './record.ts'
import { until } from './until.ts'

/** The kubelet's folder has this path also inside the node. */
export const KUBELET_FOLDER = '/var/lib/kubelet'
/** Says that `up` has created the folder on this machine, so that `down` may remove it. */
export const KUBELET_FOLDER_MARK = join(FOLDERS.state, 'created-kubelet-folder')

/** Ends all processes of the node, and its mounts with them. Keeps the state. */
export async function endProcesses(): Promise<void> {
  const node = runningNode()
  if (node !== undefined) {
    // The parent of process 1 is in the cgroup, too. It can only reap process 1 while it lives.
    killIfAlive(node.pid)
    await until('end of process 1', () => !existsSync(`/proc/${node.pid}`), { seconds: 10, everyMs: 50 })
  }
  const found = hierarchies()
  if (found !== undefined) await removeCgroups(found)
}

/** Removes everything of a node: of the running one, or of one that was killed. Changes nothing if there is none. */
export async function removeNode(): Promise<void> {
  await endProcesses()
  await detachLoopDevices()
  removeImageStore(FOLDERS.buildStore)
  // The folder can be gone: a restarted machine may have another /var/lib.
  const isOurs = existsSync(KUBELET_FOLDER_MARK) && existsSync(KUBELET_FOLDER)
  if (isOurs && readdirSync(KUBELET_FOLDER).length === 0) rmdirSync(KUBELET_FOLDER)
  rmSync(FOLDERS.state, { recursive: true, force: true })
}

interface LoopDevice {
  readonly name: string
  readonly 'back-ino': number
  readonly 'back-maj:min': string
}

/** Detaches the loop devices of volumes, which survive all processes. */
async function detachLoopDevices(): Promise<void> {
  if (!existsSync(FOLDERS.state)) return
  const ofNode = (): readonly LoopDevice[] =>
    loopDevicesOf(attachedLoopDevices(), filesIn(join(FOLDERS.state, 'data')), identityOf)
  for (const { name } of ofNode()) execFileSync('losetup', ['--detach', name])
  const left = (): string =>
    ofNode()
      .map(({ name }) => name)
      .join(' ')
  // A device that another process has open at this moment, such as another losetup, is detached when it is closed.
  await until('end of the loop devices', () => left() === '', { seconds: 30, diagnose: left })
}

function attachedLoopDevices(): readonly LoopDevice[] {
  const columns = 'NAME,BACK-INO,BACK-MAJ:MIN'
  const text = execFileSync('losetup', ['--list', '--json', '--output', columns], { encoding: 'utf8' })
  // losetup prints nothing if there are no loop devices.
  return text.trim() === '' ? [] : (JSON.parse(text) as { loopdevices: LoopDevice[] }).loopdevices
}

function filesIn(folder: string): ReadonlySet<string> {
  return new Set(globSync('**', { cwd: folder }).flatMap((file) => identityOf(join(folder, file)) ?? []))
}

/** Returns the device number and the inode of a file, as losetup prints them. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${deviceText(found.dev)} ${found.ino}`
}

/** Converts a device number to `major:minor`. */
export function deviceText(dev: number): string {
  return `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`
}

/**
 * Returns the loop devices whose file belongs to the node: a file of the driver's data, or a loop device of the node,
 * on which the kubelet has put another one. The latter come first, because they keep the device below them open. Paths
 * do not identify the files: the kernel shows other paths after the mounts of the node have ended.
 */
export function loopDevicesOf(
  devices: readonly LoopDevice[],
  files: ReadonlySet<string>,
  identity: (path: string) => string | undefined,
): readonly LoopDevice[] {
  const found = devices.filter((device) => files.has(`${device['back-maj:min'].trim()} ${device['back-ino']}`))
  if (found.length === 0) return []
  return [...loopDevicesOf(devices, new Set(found.flatMap(({ name }) => identity(name) ?? [])), identity), ...found]
}
