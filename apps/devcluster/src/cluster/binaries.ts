import { access } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { APPS, HERE, isInRepository } from '../place.ts'

type App = 'attacher' | 'resizer'

/** Returns the given sidecars, or the sidecars built in this repository. */
export async function sidecarBinaries(given: Readonly<Record<App, string | undefined>>): Promise<Record<App, string>> {
  return {
    attacher: given.attacher ?? (await builtBinary('attacher')),
    resizer: given.resizer ?? (await builtBinary('resizer')),
  }
}

async function builtBinary(app: App): Promise<string> {
  if (!isInRepository) return fileURLToPath(new URL(`csi-${app}.cjs`, HERE))
  const built = join(APPS, app, 'dist', `csi-${app}`)
  await access(built).catch(() => {
    throw new Error(`${built} is not built yet: npm run build`)
  })
  return built
}

/** How to run a binary: a script is run by the Node that runs us. */
export function programOf(binary: string): { readonly command: string; readonly args: readonly string[] } {
  return binary.endsWith('.cjs') ? { command: process.execPath, args: [binary] } : { command: binary, args: [] }
}
