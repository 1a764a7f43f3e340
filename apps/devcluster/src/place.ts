import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of this module or of its bundle: `src` or `dist` of the package, or the npm package. */
export const HERE = new URL('./', import.meta.url)

/** Whether it runs as TypeScript, not as a bundle. */
export const isSource = import.meta.url.endsWith('.ts')

/** The sidecars are in the folder of the bundle in the npm package. In the repository they are built in `apps`. */
export const isInRepository = !existsSync(new URL('package.json', HERE))
export const APPS = fileURLToPath(new URL('../../', import.meta.url))

/** How it was started. */
export const PROGRAM = isInRepository ? 'npm start --' : 'csi-devcluster'
