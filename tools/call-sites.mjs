// esbuild plugin: log lines name the place of the call in the source, which the build knows. Each log call of ours gets
// it as an argument, so that running costs no stack trace: `log.info(...)` becomes `log.infoAt('csi/connect.ts:45', ...)`.
// libs/telemetry/src/logger.ts has both.

import { readFileSync } from 'node:fs'

const CALL = /\.(info|warn|error|fatal|v)\(/g
/** The names of loggers; the build refuses any other name. */
const LOGGER = /\b(log|\w+Log)\)?\??$|\bverbose\?$/
/** `log.v(4)?` and the like, which is checked itself. */
const LEVEL = /\.v\([^()]*\)\s*\?$/
/** The logger itself. */
const EXEMPT = /[\\/]telemetry[\\/]src[\\/]/

export const callSites = {
  name: 'call-sites',
  setup(build) {
    build.onLoad({ filter: /[\\/](apps|libs)[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
      contents: EXEMPT.test(path) ? undefined : withCallSites(readFileSync(path, 'utf8'), path),
      loader: 'ts',
    }))
  },
}

/**
 * Adds the call sites to the log calls of a source, without moving its lines. Throws for a call whose receiver is not a
 * known logger.
 */
export function withCallSites(source, path) {
  const place = placeOf(path)
  return source.replace(CALL, (call, method, offset) => {
    const before = source.slice(0, offset).trimEnd()
    const line = source.slice(0, offset).split('\n').length
    if (/^\s*(\/\/|\/?\*)/.test(source.slice(source.lastIndexOf('\n', offset) + 1, offset))) return call
    if (!LOGGER.test(before) && (method === 'v' || !LEVEL.test(before))) {
      throw new Error(
        `${path}:${line}: is the receiver of ${call}...) a logger? Loggers are called log, or end with Log`,
      )
    }
    return `.${method}At('${place}:${line}', `
  })
}

/** `folder/file.ts`; for a file right in `src` the package's folder. */
function placeOf(path) {
  const parts = path.split(/[\\/]/)
  const file = parts.pop()
  const folder = parts.pop()
  return `${folder === 'src' ? parts.pop() : folder}/${file}`
}
