import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { removeBuildStore } from '../build/image-store.ts'
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
  detachLoopDevices()
  removeBuildStore()
  if (existsSync(KUBELET_FOLDER_MARK) && readdirSync(KUBELET_FOLDER).length === 0) rmdirSync(KUBELET_FOLDER)
  rmSync(FOLDERS.state, { recursive: true, force: true })
}

interface LoopDevice {
  readonly name: string
  readonly 'back-file': string | null
  readonly 'back-ino': number
  readonly 'back-maj:min': string
}

/** Detaches the loop devices of volumes, which survive all processes. */
function detachLoopDevices(): void {
  if (!existsSync(FOLDERS.state)) return
  const columns = 'NAME,BACK-FILE,BACK-INO,BACK-MAJ:MIN'
  const { stdout, status } = spawnSync('losetup', ['--list', '--json', '--output', columns], { encoding: 'utf8' })
  if (status !== 0 || stdout.trim() === '') return
  const { loopdevices } = JSON.parse(stdout) as { readonly loopdevices: readonly LoopDevice[] }
  for (const { name } of loopDevicesOf(loopdevices, filesIn(join(FOLDERS.state, 'data')), nodeFileExists)) {
    spawnSync('losetup', ['--detach', name])
  }
}

/** Reports whether a path of the kubelet's folder, as the node sees it, exists in the state of the node. */
function nodeFileExists(path: string): boolean {
  return existsSync(join(FOLDERS.state, 'kubelet', path.slice(KUBELET_FOLDER.length)))
}

/** Returns the device number and inode of each file, as losetup prints them. */
function filesIn(folder: string): ReadonlySet<string> {
  const stats = globSync('**', { cwd: folder }).flatMap((file) => {
    const found = statSync(join(folder, file), { throwIfNoEntry: false })
    return found === undefined ? [] : [`${deviceText(found.dev)} ${found.ino}`]
  })
  return new Set(stats)
}

/** Converts a device number to `major:minor`. */
export function deviceText(dev: number): string {
  return `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`
}

/**
 * Returns the loop devices whose file belongs to the node: a file of the driver's data, by its inode, or a device file
 * in the kubelet's folder, by its path.
 */
export function loopDevicesOf(
  devices: readonly LoopDevice[],
  files: ReadonlySet<string>,
  existsInNode: (path: string) => boolean,
): readonly LoopDevice[] {
  return devices.filter((device) => {
    if (files.has(`${device['back-maj:min']} ${device['back-ino']}`)) return true
    const file = device['back-file']
    return file?.startsWith(`${KUBELET_FOLDER}/`) === true && existsInNode(file)
  })
}
