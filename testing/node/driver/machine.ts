import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { systemCodeOf } from '@csi-sidecars/base'

const execute = promisify(execFile)

/** The mounts and the loop devices of a machine. */
export type Machine = typeof thisMachine

export const thisMachine = {
  /** Returns the mounts that this process sees: the path of each, and the path of its source in the file system. */
  async mounts(): Promise<readonly { readonly root: string; readonly point: string }[]> {
    const list = await readFile('/proc/self/mountinfo', 'utf8')
    return list.split('\n').map((line) => {
      const [, , , root = '', point = ''] = line.split(' ').map(unescaped)
      return { root, point }
    })
  },

  /** Returns the loop device whose file ends with this path: in another container the path begins differently. */
  async loopDeviceOf(end: string): Promise<string | undefined> {
    for (const name of await readdir('/sys/block')) {
      if (!name.startsWith('loop')) continue
      const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(withoutFile)
      if (file?.trimEnd().endsWith(end)) return `/dev/${name}`
    }
    return undefined
  },

  /** Runs mount, umount, losetup or cp. Returns the output. */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    return (await execute(program, args)).stdout.trim()
  },
}

/** Decodes a path of the mount list, in which blanks and other characters are three octal digits. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_whole, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

function withoutFile(error: unknown): undefined {
  if (systemCodeOf(error) !== 'ENOENT' && systemCodeOf(error) !== 'ENXIO') throw error
}
