/** The place of a log call in the source. */
export interface CallSite {
  /** The file name, for example `watcher.ts`. `???` if it is unknown. */
  readonly file: string
  /** The folder, to distinguish files of the same name; for `src`, its parent folder. Empty if it is unknown. */
  readonly folder: string
  readonly line: number
}

type Callable = (...args: never[]) => unknown

const UNKNOWN: CallSite = { file: '???', folder: '', line: 1 }
/** The parsed call sites. The key is a line of the stack, or the text that the build has written. */
const callSites = new Map<string, CallSite>()

/** Finds the caller of `callee` in a stack trace, for programs that run from source. This costs some microseconds. */
export function callSite(callee: Callable): CallSite {
  const limit = Error.stackTraceLimit
  const holder: { stack?: string } = {}
  Error.stackTraceLimit = 1
  Error.captureStackTrace(holder, callee)
  Error.stackTraceLimit = limit
  const stack = holder.stack ?? ''
  return lookUp(stack, frameSite)
}

/** Parses the call site that the build has written into a log call: `csi/connect.ts:45`. */
export function parseSite(text: string): CallSite {
  return lookUp(text, (written) => {
    const colon = written.lastIndexOf(':')
    return siteAt(written.slice(0, colon), Number(written.slice(colon + 1)))
  })
}

function lookUp(text: string, read: (text: string) => CallSite): CallSite {
  let site = callSites.get(text)
  if (site === undefined) {
    site = read(text)
    callSites.set(text, site)
  }
  return site
}

function frameSite(stack: string): CallSite {
  const frame = parseFrame(stack)
  return frame === undefined ? UNKNOWN : siteAt(frame.path, frame.line)
}

/** Parses the last line of a stack: `    at name (file:///a/b/c.ts:12:34)`, or the same line without the name. */
export function parseFrame(stack: string): { path: string; line: number } | undefined {
  // regex-bounded: the expression only reads a line of a stack trace of this process
  const match = /([^\s()]*):(\d+):\d+\)?$/.exec(stack)
  if (match === null) return undefined
  const [, path = '', line] = match
  return { path, line: Number(line) }
}

export function siteAt(path: string, line: number): CallSite {
  const segments = path.split(/[/\\]/)
  const file = segments.pop() ?? ''
  let folder = segments.pop() ?? ''
  if (folder === 'src') folder = segments.pop() ?? folder
  return { file, folder, line }
}
