import { existsSync } from 'node:fs'

/** The folder of this module, or of the bundle with it: `src` or `dist` of the package, or the npm package. */
const HERE = new URL('./', import.meta.url)

/** True if the program runs as TypeScript, not as a bundle. */
export const isSource = import.meta.url.endsWith('.ts')

/** The command that started the program. Only the npm package has a package.json in the folder of the bundle. */
export const PROGRAM = existsSync(new URL('package.json', HERE)) ? 'csi-driver-test' : 'npm run driver-test --'
