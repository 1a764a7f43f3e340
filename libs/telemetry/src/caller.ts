/** Where a log call stands in the source. */
export interface CallSite {
  /** `watcher.ts`; `???` when unknown. */
  readonly file: string
  /** The folder that tells the file from others of its name: the package's instead of its `src`. Empty when unknown. */
  readonly folder: string
  readonly line: number
}

type Callable = (...args: never[]) => unknown

/**
 * In a bundle the stack shows the bundle's lines. The build puts a table here that leads from those lines that hold a
 * log call to the source: `folder/file.ts 12031:45 12040.17:52;...`, bundle line and, where two calls share it, column,
 * then the line of the source. Running from source there is none.
 */
declare const __CALLER_TABLE__: string | undefined

const UNKNOWN: CallSite = { file: '???', folder: '', line: 1 }
/** By the stack's own text: a call site is looked up once. */
const known = new Map<string, CallSite>()
let bundle: BundleTable | undefined

/** The place that called `callee`. Captures one frame and formats it: some microseconds. */
export function callSite(callee: Callable): CallSite {
  const limit = Error.stackTraceLimit
  const holder: { stack?: string } = {}
  Error.stackTraceLimit = 1
  Error.captureStackTrace(holder, callee)
  Error.stackTraceLimit = limit
  const stack = holder.stack ?? ''
  let site = known.get(stack)
  if (site === undefined) {
    site = siteOf(stack)
    known.set(stack, site)
  }
  return site
}

function siteOf(stack: string): CallSite {
  const frame = parseFrame(stack)
  if (frame === undefined) return UNKNOWN
  if (typeof __CALLER_TABLE__ !== 'string') return siteAt(frame.path, frame.line)
  bundle ??= parseCallerTable(__CALLER_TABLE__)
  return findInTable(bundle, frame.line, frame.column) ?? siteAt(frame.path, frame.line)
}

/** The last line of a stack: `    at name (file:///a/b/c.ts:12:34)`, or the place alone. */
export function parseFrame(stack: string): { path: string; line: number; column: number } | undefined {
  const match = /([^\s()]*):(\d+):(\d+)\)?$/.exec(stack)
  if (match === null) return undefined
  const [, path = '', line, column] = match
  return { path, line: Number(line), column: Number(column) }
}

export function siteAt(path: string, line: number): CallSite {
  const parts = path.split(/[/\\]/)
  const file = parts.pop() ?? ''
  let folder = parts.pop() ?? ''
  if (folder === 'src') folder = parts.pop() ?? folder
  return { file, folder, line }
}

/** Calls of one line of the bundle, by rising column. */
type BundleTable = ReadonlyMap<number, readonly { readonly column: number; readonly site: CallSite }[]>

export function parseCallerTable(text: string): BundleTable {
  const table = new Map<number, { column: number; site: CallSite }[]>()
  for (const file of text.split(';')) {
    const [path = '', ...calls] = file.split(' ')
    for (const call of calls) {
      const [place = '', line] = call.split(':')
      const [bundleLine, column = '0'] = place.split('.')
      const entry = { column: Number(column), site: siteAt(path, Number(line)) }
      const key = Number(bundleLine)
      const sharing = table.get(key)
      if (sharing === undefined) table.set(key, [entry])
      else sharing.push(entry)
    }
  }
  for (const sharing of table.values()) sharing.sort((a, b) => a.column - b.column)
  return table
}

export function findInTable(table: BundleTable, line: number, column: number): CallSite | undefined {
  const sharing = table.get(line)
  return sharing?.findLast((entry) => entry.column <= column)?.site ?? sharing?.[0]?.site
}
