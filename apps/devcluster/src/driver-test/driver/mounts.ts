import { readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const MOUNTS = '/proc/self/mountinfo'

/** What is mounted below a folder, as far as this process sees it; nothing where there is no list of mounts. */
export async function mountsBelow(folder: string, list = MOUNTS): Promise<readonly string[]> {
  const text = await readFile(list, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const point = unescaped(line.split(' ')[4] ?? '')
    return point.startsWith(`${folder}/`) ? [point] : []
  })
}

export async function isMounted(path: string): Promise<boolean> {
  return (await mountsBelow(dirname(path))).includes(path)
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
