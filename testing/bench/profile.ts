// Prints how CPU profiles spent their time: node testing/bench/profile.ts FILE.cpuprofile ...
// The shares of the busy time are by running code, by the package that caused it (Node code counts for its caller), and
// by function. The comments that esbuild leaves in bundles name the packages.
import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: Frame
  readonly children?: readonly number[]
}

interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

const NOT_BUSY = new Set(['(idle)', '(root)'])
const SHOWN = 25

const busy = { microseconds: 0 }
const tables = {
  runs: new Map<string, number>(),
  behalf: new Map<string, number>(),
  functions: new Map<string, number>(),
}
const bundles = new Map<string, readonly string[]>()

for (const file of process.argv.slice(2)) add(JSON.parse(readFileSync(file, 'utf8')) as Profile)
process.stdout.write(`busy ${(busy.microseconds / 1e6).toFixed(2)} s
`)
for (const [title, table] of Object.entries(tables))
  process.stdout.write(`
${title}
${shares(table)}
`)

function add({ nodes, samples, timeDeltas }: Profile): void {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const behalfOf = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) {
      const frame = frames.get(at)
      if (frame?.url.startsWith('file:')) return packageOf(placeOf(frame))
    }
    return 'the event loop'
  }
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id)
    if (frame === undefined || NOT_BUSY.has(frame.functionName)) continue
    // A sample covers the time until the next one.
    const microseconds = timeDeltas[index + 1] ?? 0
    const place = placeOf(frame)
    busy.microseconds += microseconds
    grow(tables.runs, packageOf(place), microseconds)
    grow(tables.behalf, behalfOf(id), microseconds)
    grow(tables.functions, `${frame.functionName || '(anonymous)'}  ${place}`, microseconds)
  }
}

function grow(shares: Map<string, number>, key: string, by: number): void {
  shares.set(key, (shares.get(key) ?? 0) + by)
}

/** The source file of a function, whether or not it was bundled. */
function placeOf({ functionName, url, lineNumber }: Frame): string {
  if (url === '') return functionName === '(garbage collector)' ? 'garbage collection' : 'native code'
  if (!url.startsWith('file:')) return url
  const file = fileURLToPath(url)
  if (!file.endsWith('.mjs') || !existsSync(file)) return file
  return originOf(file, lineNumber)
}

function originOf(file: string, lineNumber: number): string {
  let origins = bundles.get(file)
  if (origins === undefined) {
    let origin = file
    origins = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => {
        origin = /^\/\/ (\S+\.\w+)$/.exec(line)?.[1] ?? origin
        return origin
      })
    bundles.set(file, origins)
  }
  return origins[lineNumber] ?? file
}

/** `node_modules/@grpc/grpc-js`, `libs/base`, `node:internal/http`. */
function packageOf(place: string): string {
  const installed = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place)?.[1]
  if (installed !== undefined) return installed
  return /((?:libs|apps)\/[^/]+)/.exec(place)?.[1] ?? (place.startsWith('src/') ? 'the app itself' : place)
}

function shares(of: ReadonlyMap<string, number>): string {
  const sorted = [...of].sort(([, a], [, b]) => b - a).slice(0, SHOWN)
  return sorted
    .map(([what, microseconds]) => `${((100 * microseconds) / busy.microseconds).toFixed(1).padStart(5)} %  ${what}`)
    .join('\n')
}
