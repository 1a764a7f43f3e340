/** The place of a log call in the source. */
export interface CallSite {
  /** `watcher.ts`; `???` when unknown. */
  readonly file: string
  /** The folder, which distinguishes files of one name: the package's instead of its `src`. Empty when unknown. */
  readonly folder: string
  readonly line: number
}

type Callable = (...args: never[]) => unknown

const UNKNOWN: CallSite = { file: '???', folder: '', line: 1 }
/** Call sites that were read, by the text of the stack or of the build. */
const known = new Map<string, CallSite>()

/** The place that called `callee`, running from source. Captures one frame and formats it: some microseconds. */
export function callSite(callee: Callable): CallSite {
  const limit = Error.stackTraceLimit
  const holder: { stack?: string } = {}
  Error.stackTraceLimit = 1
  Error.captureStackTrace(holder, callee)
  Error.stackTraceLimit = limit
  const stack = holder.stack ?? ''
  return lookUp(stack, frameSite)
}

/** The place that the build has written into a log call: `csi/connect.ts:45`. */
export function writtenSite(text: string): CallSite {
  return lookUp(text, (written) => {
    const colon = written.lastIndexOf(':')
    return siteAt(written.slice(0, colon), Number(written.slice(colon + 1)))
  })
}

function lookUp(text: string, read: (text: string) => CallSite): CallSite {
  let site = known.get(text)
  if (site === undefined) {
    site = read(text)
    known.set(text, site)
  }
  return site
}

function frameSite(stack: string): CallSite {
  const frame = parseFrame(stack)
  return frame === undefined ? UNKNOWN : siteAt(frame.path, frame.line)
}

/** The last line of a stack: `    at name (file:///a/b/c.ts:12:34)`, or the place alone. */
export function parseFrame(stack: string): { path: string; line: number } | undefined {
  // bounded: a line of our own stack
  const match = /([^\s()]*):(\d+):\d+\)?$/.exec(stack)
  if (match === null) return undefined
  const [, path = '', line] = match
  return { path, line: Number(line) }
}

export function siteAt(path: string, line: number): CallSite {
  const parts = path.split(/[/\\]/)
  const file = parts.pop() ?? ''
  let folder = parts.pop() ?? ''
  if (folder === 'src') folder = parts.pop() ?? folder
  return { file, folder, line }
}
