import { existsSync } from 'node:fs'

/** The folder that contains this module or its bundle: `src`, `dist` or the npm package. */
const HERE = new URL('./', import.meta.url)

/** True if the program runs as TypeScript, not as a bundle. */
export const isSource = import.meta.url.endsWith('.ts')

/** The command that starts the program. Only the npm package has a package.json next to the bundle. */
export const PROGRAM = existsSync(new URL('package.json', HERE)) ? 'csi-driver-test' : 'npm run driver-test --'
