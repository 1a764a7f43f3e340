import { readFile, rm } from 'node:fs/promises'

const MOUNTS = '/proc/self/mountinfo'

interface Mount {
  readonly point: string
  /** The options of the mount and of its file system. */
  readonly options: ReadonlySet<string>
}

/** Returns the mounts that this process sees. Empty if the system has no list of mounts. */
async function mounts(list: string): Promise<readonly Mount[]> {
  const text = await readFile(list, 'utf8').catch(() => '')
  return text.split('\n').map((line) => {
    const [mountFields = '', ofFileSystem = ''] = line.split(' - ')
    const fields = mountFields.split(' ')
    const options = [fields[5] ?? '', ofFileSystem.split(' ')[2] ?? ''].flatMap((each) => each.split(','))
    return { point: unescaped(fields[4] ?? ''), options: new Set(options) }
  })
}

export async function mountsBelow(folder: string, list = MOUNTS): Promise<readonly string[]> {
  const all = await mounts(list)
  return all.flatMap(({ point }) => (point.startsWith(`${folder}/`) ? [point] : []))
}

/** Returns the options of the last mount at the path. Undefined if nothing is mounted there. */
export async function mountOptions(path: string, list = MOUNTS): Promise<ReadonlySet<string> | undefined> {
  const all = await mounts(list)
  return all.findLast(({ point }) => point === path)?.options
}

/**
 * Removes a folder of the test unless it contains a mount, whose files would be lost. Returns false if the folder
 * remains, for example because it contains files of root.
 */
export async function removeFolder(folder: string, list = MOUNTS): Promise<boolean> {
  if ((await mountsBelow(folder, list)).length > 0) return false
  return await rm(folder, { recursive: true, force: true }).then(
    () => true,
    () => false,
  )
}

/** Decodes a path of the mount list, in which blanks and other characters are three octal digits. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_whole, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}
