import { mkdir, mkdtemp, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf, systemCodeOf } from '@csi-sidecars/base'

/** Makes sure that there can be mounts below a folder: said at the start, not by the first pod. */
export async function checkDataFolder(folder: string): Promise<void> {
  try {
    await make(folder)
    await rmdir(await mkdtemp(join(folder, '.devcluster-')))
  } catch (error) {
    throw new Error(`--data ${folder} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

/** With its parents. Node's own way to do that never ends below /proc. */
async function make(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const code = systemCodeOf(error)
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await make(dirname(folder))
    await mkdir(folder)
  }
}
