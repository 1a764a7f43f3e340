import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of the running code: `src` or `dist` in the repository, or the folder of the npm package. */
export const HERE = new URL('./', import.meta.url)

/** True if the program runs as TypeScript, not as a bundle. */
export const isSource = import.meta.url.endsWith('.ts')

/** The sidecars are built in `apps` in the repository. The npm package has them next to the bundle. */
export const isInRepository = !existsSync(new URL('package.json', HERE))
export const APPS = fileURLToPath(new URL('../../../apps/', import.meta.url))

/** The command that starts the program, for messages. */
export const PROGRAM = isInRepository ? 'npm start --' : 'csi-devcluster'
