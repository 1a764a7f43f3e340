import { readFile, rm } from 'node:fs/promises'

const MOUNTS = '/proc/self/mountinfo'

interface Mount {
  readonly point: string
  /** Of the mount and of its file system. */
  readonly options: ReadonlySet<string>
}

/** As far as this process sees them; none where there is no list of mounts. */
async function mounts(list: string): Promise<readonly Mount[]> {
  const text = await readFile(list, 'utf8').catch(() => '')
  return text.split('\n').map((line) => {
    const [own = '', ofFileSystem = ''] = line.split(' - ')
    const fields = own.split(' ')
    const options = [fields[5] ?? '', ofFileSystem.split(' ')[2] ?? ''].flatMap((each) => each.split(','))
    return { point: unescaped(fields[4] ?? ''), options: new Set(options) }
  })
}

/** What is mounted below a folder. */
export async function mountsBelow(folder: string, list = MOUNTS): Promise<readonly string[]> {
  const all = await mounts(list)
  return all.flatMap(({ point }) => (point.startsWith(`${folder}/`) ? [point] : []))
}

/** How the path was mounted last; undefined where nothing is mounted at it. */
export async function mountOptions(path: string, list = MOUNTS): Promise<ReadonlySet<string> | undefined> {
  const all = await mounts(list)
  return all.findLast(({ point }) => point === path)?.options
}

/**
 * Removes a folder of ours, unless something is still mounted in it: that would remove what the volume holds. False
 * where it stays; a driver that runs as root may have left what we must not remove.
 */
export async function removeFolder(folder: string, list = MOUNTS): Promise<boolean> {
  if ((await mountsBelow(folder, list)).length > 0) return false
  return await rm(folder, { recursive: true, force: true }).then(
    () => true,
    () => false,
  )
}

/** Blanks and the like are written as three octal digits. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_whole, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}
