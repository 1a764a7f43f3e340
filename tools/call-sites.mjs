// esbuild plugin that adds the source position to each log call, so that a log line needs no stack trace at run time:
// `log.info(...)` becomes `log.infoAt('csi/connect.ts:45', ...)`. libs/telemetry/src/logger.ts has both methods.

import { readFileSync } from 'node:fs'

const CALL = /\.(info|warn|error|fatal|v)\(/g
/** The names of variables that hold a logger. The build refuses log calls on variables with other names. */
const LOGGER = /\b(log|\w+Log)\)?\??$|\bverbose\?$/
/** The text between `log` and `.info(` in a call such as `log.v(4)?.info(`. The call of `v` is checked separately. */
const LEVEL = /\.v\([^()]*\)\s*\?$/
/** The files of the logger, which are not changed. */
const EXEMPT = /[\\/]telemetry[\\/]src[\\/]/

export const callSites = {
  name: 'call-sites',
  setup(build) {
    build.onLoad({ filter: /[\\/](apps|libs|desk)[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
      contents: EXEMPT.test(path) ? undefined : withCallSites(readFileSync(path, 'utf8'), path),
      loader: 'ts',
    }))
  },
}

/**
 * Adds the source position to each log call of a source file, without moving lines. Throws for a call whose receiver is
 * not a known logger.
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

/** Returns `folder/file.ts` for a path. For a file directly in `src` the folder is that of the package. */
function placeOf(path) {
  const parts = path.split(/[\\/]/)
  const file = parts.pop()
  const folder = parts.pop()
  return `${folder === 'src' ? parts.pop() : folder}/${file}`
}
