import { access } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

type App = 'attacher' | 'resizer'

/** The sidecars to run: those that were given, or those that were built. */
export async function sidecarBinaries(given: Readonly<Record<App, string | undefined>>): Promise<Record<App, string>> {
  return {
    attacher: given.attacher ?? (await builtBinary('attacher')),
    resizer: given.resizer ?? (await builtBinary('resizer')),
  }
}

const HERE = fileURLToPath(new URL('./', import.meta.url))
const APPS = fileURLToPath(new URL('../../../', import.meta.url))

/** In the npm package the sidecars lie beside this program; in the repository, where they are built. */
async function builtBinary(app: App): Promise<string> {
  const built = join(APPS, app, 'dist', `csi-${app}`)
  for (const path of [join(HERE, `csi-${app}.cjs`), built]) if (await exists(path)) return path
  throw new Error(`${built} is not built yet: npm run build`)
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

/** How to run a binary: a script is run by the Node that runs us. */
export function programOf(binary: string): { readonly command: string; readonly args: readonly string[] } {
  return binary.endsWith('.cjs') ? { command: process.execPath, args: [binary] } : { command: binary, args: [] }
}
