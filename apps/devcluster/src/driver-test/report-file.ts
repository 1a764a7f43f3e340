import { open, rm, stat } from 'node:fs/promises'
import { messageOf } from '@csi-sidecars/base'

/** Makes sure that a report can be written: said at the start, not when a test that took minutes is over. */
export async function checkReportFile(flag: string, file: string | undefined): Promise<void> {
  if (file === undefined) return
  try {
    const before = await stat(file).catch(() => undefined)
    await (await open(file, 'a')).close()
    if (before === undefined) await rm(file)
  } catch (error) {
    throw new Error(`--${flag} ${file} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}
